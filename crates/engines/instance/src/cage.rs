//! Instance caging: at most `cpu_count` sessions run and the others queue, with a quantum of 100
//! ms.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use linux::clock::monotonic_ns;

use crate::layout::{CageState, WaitEvent};
use crate::sga::Sga;
use crate::wait_clock::WaitClock;

/// How long a session may run while others wait, in wall-clock time.
///
/// Turns of 100 ms explain article 001's mean wait of 66.57 ms with 9 readers on 6 slots, where
/// waits made up 39.4 % of DB time.
pub const QUANTUM_NS: u64 = 100_000_000;

/// A session has a turn that another session gave up, and is counted in its place.
const HANDED: u32 = 1;
/// A session was dealt a turn, and has not been counted yet.
const DEALT: u32 = 2;

/// One session's turn in the cage.
pub(crate) struct Turn<'m> {
    sga: Sga<'m>,
    session: u32,
    caged: bool,
    since_ns: u64,
}

impl<'m> Turn<'m> {
    /// Enters the cage, waiting for a turn if necessary.
    pub(crate) fn enter(sga: Sga<'m>, session: u32, waits: &mut WaitClock) -> Self {
        let cage = &sga.control.cage.0;
        let cpu_count = cage.cpu_count.load(Ordering::Relaxed);
        let mut turn = Turn {
            sga,
            session,
            caged: cpu_count > 0,
            since_ns: monotonic_ns(),
        };
        if turn.caged && cage.dealt.load(Ordering::Acquire) != 0 {
            // One that comes so late that it was handed a turn already is counted.
            if turn.turn_word().load(Ordering::Acquire) == DEALT {
                turn.count(cage);
            }
            turn.wait(waits);
        } else if turn.caged {
            acquire(cage);
            let running = cage.running.load(Ordering::Relaxed);
            if running < cpu_count {
                cage.running.store(running + 1, Ordering::Relaxed);
                cage.running_max.fetch_max(running + 1, Ordering::Relaxed);
                cage.latch.release();
            } else {
                turn.queue_and_wait(waits);
            }
        }
        turn
    }

    /// Counts this session, which was dealt a turn, among the running ones.
    fn count(&self, cage: &CageState) {
        if !self.is_over() {
            acquire(cage);
            let running = cage.running.load(Ordering::Relaxed).saturating_add(1);
            cage.running.store(running, Ordering::Relaxed);
            cage.running_max.fetch_max(running, Ordering::Relaxed);
            cage.latch.release();
        }
    }

    /// Hands the turn to the longest-waiting session if this one's quantum is over. Returns whether
    /// this session waited.
    #[inline]
    pub(crate) fn offer(&mut self, now_ns: u64, waits: &mut WaitClock) -> bool {
        let over = self.caged && now_ns.saturating_sub(self.since_ns) >= QUANTUM_NS;
        over && self.hand_over(waits)
    }

    #[cold]
    fn hand_over(&mut self, waits: &mut WaitClock) -> bool {
        acquire(&self.sga.control.cage.0);
        let Some(next) = self.pop() else {
            self.sga.control.cage.0.latch.release();
            self.since_ns = monotonic_ns();
            return false;
        };
        wake(&self.sga, next);
        self.queue_and_wait(waits);
        true
    }

    /// Leaves the cage; the longest-waiting session gets the turn.
    pub(crate) fn leave(self) {
        if !self.caged {
            return;
        }
        let cage = &self.sga.control.cage.0;
        acquire(cage);
        match self.pop() {
            Some(next) => wake(&self.sga, next),
            // A session that left the queue at the end of a window was not counted.
            None => {
                let running = cage.running.load(Ordering::Relaxed);
                cage.running
                    .store(running.saturating_sub(1), Ordering::Relaxed);
            }
        }
        cage.latch.release();
    }

    /// Joins the end of the queue, releases the cage's latch, and sleeps until woken by another
    /// session or by the end of the window. Call it with the latch held.
    fn queue_and_wait(&mut self, waits: &mut WaitClock) {
        let cage = &self.sga.control.cage.0;
        let turn = self.turn_word();
        turn.store(0, Ordering::Relaxed);
        let tail = cage.tail.load(Ordering::Relaxed);
        self.ring(tail).store(self.session, Ordering::Relaxed);
        cage.tail.store(tail.wrapping_add(1), Ordering::Relaxed);
        cage.latch.release();
        self.wait(waits);
    }

    fn wait(&mut self, waits: &mut WaitClock) {
        let turn = self.turn_word();
        if turn.load(Ordering::Acquire) == 0 {
            waits.time(WaitEvent::CpuQuantum, || {
                while turn.load(Ordering::Acquire) == 0 && !self.is_over() {
                    linux::futex::wait(turn, 0, Some(self.patience()));
                }
            });
        }
        self.since_ns = monotonic_ns();
    }

    /// Removes the longest-waiting session from the queue. Call it with the latch held.
    fn pop(&self) -> Option<u32> {
        let cage = &self.sga.control.cage.0;
        let head = cage.head.load(Ordering::Relaxed);
        if head == cage.tail.load(Ordering::Relaxed) {
            return None;
        }
        cage.head.store(head.wrapping_add(1), Ordering::Relaxed);
        Some(self.ring(head).load(Ordering::Relaxed))
    }

    fn ring(&self, position: u32) -> &'m AtomicU32 {
        &self.sga.queue[(position % self.sga.layout.sessions) as usize]
    }

    fn turn_word(&self) -> &'m AtomicU32 {
        &self.sga.slots[self.session as usize].turn.0
    }

    /// Returns whether waiting for a turn is over.
    fn is_over(&self) -> bool {
        let control = self.sga.control;
        control.gate.0.stop.load(Ordering::Relaxed) != 0
            || monotonic_ns() >= control.window.0.end_ns.load(Ordering::Relaxed)
    }

    /// Returns how long to sleep: to the end of the window, or until it is time to check again
    /// whether a window has been set.
    fn patience(&self) -> Duration {
        let end_ns = self.sga.control.window.0.end_ns.load(Ordering::Relaxed);
        if end_ns == u64::MAX {
            return Duration::from_nanos(QUANTUM_NS / 5);
        }
        Duration::from_nanos(end_ns.saturating_sub(monotonic_ns()).max(1))
    }
}

/// Deals the turns of a window while all sessions sleep. As many sessions as may run get the first
/// turns, in each window the ones after those of the window before; the others queue. Sessions that
/// still waited at the end of the last window have left the queue without a turn.
pub(crate) fn deal(sga: &Sga<'_>, window: u32) {
    let cage = &sga.control.cage.0;
    let sessions = sga.layout.sessions;
    let cpu_count = cage.cpu_count.load(Ordering::Relaxed).min(sessions);
    if cpu_count == 0 {
        return;
    }
    let first = (u64::from(window) * u64::from(cpu_count) % u64::from(sessions)) as u32;
    let order = (0..sessions).map(|place| (first + place) % sessions);
    for (place, session) in (0..).zip(order) {
        let has_turn = place < cpu_count;
        let turn = &sga.slots[session as usize].turn.0;
        turn.store(if has_turn { DEALT } else { 0 }, Ordering::Relaxed);
        if !has_turn {
            let queued = place - cpu_count;
            sga.queue[queued as usize].store(session, Ordering::Relaxed);
        }
    }
    cage.head.store(0, Ordering::Relaxed);
    cage.tail.store(sessions - cpu_count, Ordering::Relaxed);
    // Each session counts itself when it runs.
    cage.running.store(0, Ordering::Relaxed);
    cage.dealt.store(1, Ordering::Release);
}

fn acquire(cage: &CageState) {
    // Held for a few instructions and part of the cost of caging: its sleeps are not a named wait.
    cage.latch.acquire(|sleep| sleep());
}

fn wake(sga: &Sga<'_>, session: u32) {
    let turn = &sga.slots[session as usize].turn.0;
    turn.store(HANDED, Ordering::Release);
    linux::futex::wake(turn, 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::small_sga::{layout, mapped};

    #[test]
    fn every_session_has_a_first_turn_in_its_window() {
        const SESSIONS: u32 = 5;
        let layout = layout(SESSIONS, 1 << 20);
        let mapping = mapped(layout.bytes);
        let sga = Sga::create(&mapping, layout);
        let cage = &sga.control.cage.0;
        let word = |session: u32| sga.slots[session as usize].turn.0.load(Ordering::Relaxed);
        deal(&sga, 1);
        assert_eq!(cage.dealt.load(Ordering::Relaxed), 0, "there is no cage");
        cage.cpu_count.store(2, Ordering::Relaxed);
        for (window, first, then) in [
            (0, [0, 1], [2, 3, 4]),
            (1, [2, 3], [4, 0, 1]),
            (2, [4, 0], [1, 2, 3]),
            (u32::MAX, [0, 1], [2, 3, 4]),
        ] {
            // The state that the last window left.
            cage.running.store(7, Ordering::Relaxed);
            (0..SESSIONS).for_each(|it| sga.slots[it as usize].turn.0.store(1, Ordering::Relaxed));
            deal(&sga, window);
            let has_turn = (0..SESSIONS).filter(|session| word(*session) == DEALT);
            let mut expected = first.to_vec();
            expected.sort_unstable();
            assert_eq!(has_turn.collect::<Vec<u32>>(), expected, "window {window}");
            assert_eq!(cage.running.load(Ordering::Relaxed), 0);
            let turn = Turn {
                sga,
                session: 0,
                caged: true,
                since_ns: 0,
            };
            let queue: Vec<u32> = std::iter::from_fn(|| turn.pop()).collect();
            assert_eq!(queue, then, "window {window}");
        }
        // `running_max` counts sessions that ran, not turns dealt.
        assert_eq!(cage.running_max.load(Ordering::Relaxed), 0);
        deal(&sga, 0);
        sga.control
            .window
            .0
            .end_ns
            .store(u64::MAX, Ordering::Relaxed);
        let mut waits = WaitClock::new().unwrap();
        let one = Turn::enter(sga, 0, &mut waits);
        assert_eq!(cage.running_max.load(Ordering::Relaxed), 1);
        let other = Turn::enter(sga, 1, &mut waits);
        assert_eq!(cage.running_max.load(Ordering::Relaxed), 2);
        // A session that comes after it was handed a turn runs in place of who gave it up.
        acquire(cage);
        let next = one.pop().unwrap();
        wake(&sga, next);
        cage.latch.release();
        let late = Turn::enter(sga, next, &mut waits);
        assert_eq!(cage.running_max.load(Ordering::Relaxed), 2);
        late.leave();
        other.leave();
    }
}
