//! When a session may run: the bounds of its window, and its sleep until the next one. Sessions of
//! several cases take turns by the clock alone: nobody wakes them inside a series.

use std::sync::atomic::Ordering;
use std::time::Duration;

use linux::clock::{monotonic_ns, process_cpu_ns};

use crate::series::WINDOWS_MAX;
use crate::sga::Sga;

/// The clock of one session.
pub(crate) struct TurnClock<'m> {
    sga: Sga<'m>,
    session: u32,
    /// Start and end of the window, if it is one of a series; otherwise the control page has them.
    bounds: Option<(u64, u64)>,
    /// How often the session was parked, for how long, and the CPU time it used meanwhile.
    pub parks: u64,
    pub parked_ns: u64,
    pub parked_cpu_ns: u64,
}

impl<'m> TurnClock<'m> {
    pub(crate) fn new(sga: Sga<'m>, session: u32) -> Self {
        TurnClock {
            sga,
            session,
            bounds: None,
            parks: 0,
            parked_ns: 0,
            parked_cpu_ns: 0,
        }
    }

    /// Returns the start of the window.
    #[inline]
    pub(crate) fn start_ns(&self) -> u64 {
        let told = &self.sga.control.window.0.start_ns;
        let bounds = self.bounds;
        bounds.map_or_else(|| told.load(Ordering::Relaxed), |(start_ns, _)| start_ns)
    }

    /// Returns the end of the window.
    #[inline]
    pub(crate) fn end_ns(&self) -> u64 {
        let told = &self.sga.control.window.0.end_ns;
        let bounds = self.bounds;
        bounds.map_or_else(|| told.load(Ordering::Relaxed), |(_, end_ns)| end_ns)
    }

    /// Returns how many windows the series has.
    pub(crate) fn windows(&self) -> usize {
        let windows = self.sga.control.series.0.windows.load(Ordering::Relaxed);
        (windows as usize).min(WINDOWS_MAX)
    }

    /// Returns whether sessions park instead of finishing.
    pub(crate) fn parks(&self) -> bool {
        self.sga.control.window.0.parks.load(Ordering::Acquire) == 1 && !self.is_stopped()
    }

    fn is_stopped(&self) -> bool {
        self.sga.control.gate.0.stop.load(Ordering::Acquire) != 0
    }

    /// Sleeps until the turn of this window of the series. Before the first one, waits for the
    /// series to be opened. Returns whether there is such a window.
    pub(crate) fn sleep(&mut self, window: usize) -> bool {
        let control = &self.sga.control.window.0;
        let mut opened = control.opened.load(Ordering::Acquire);
        let (since_ns, cpu_ns) = (monotonic_ns(), process_cpu_ns());
        if window == 0 {
            let slot = &self.sga.slots[self.session as usize];
            slot.result.cpu_ns_in_all.store(cpu_ns, Ordering::Relaxed);
            slot.live.0.windows.fetch_add(1, Ordering::Release);
            while control.opened.load(Ordering::Acquire) == opened && !self.is_stopped() {
                linux::futex::wait(&control.opened, opened, None);
            }
            opened = control.opened.load(Ordering::Acquire);
        }
        let (begin_ns, bounds) = self.sga.control.series.0.turn(window);
        while self.parks() {
            let left_ns = begin_ns.saturating_sub(monotonic_ns());
            if left_ns == 0 {
                break;
            }
            let left = Duration::from_nanos(left_ns);
            linux::futex::wait(&control.opened, opened, Some(left));
        }
        self.bounds = Some(bounds);
        self.parks += 1;
        self.parked_ns += monotonic_ns() - since_ns;
        self.parked_cpu_ns += process_cpu_ns() - cpu_ns;
        self.parks()
    }
}
