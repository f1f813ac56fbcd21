//! A session: runs statements in its windows, and publishes its measurements.

use std::sync::atomic::{AtomicU64, Ordering};

use linux::affinity::current_cpu;
use linux::clock::monotonic_ns;

use crate::Error;
use crate::buffer_cache::Reader;
use crate::cage::Turn;
use crate::handicap::Handicap;
use crate::histogram;
use crate::layout::{CPU_WORDS, HISTOGRAM_BUCKETS, SessionResult, SessionState};
use crate::loads::Load;
use crate::order::SessionOrder;
use crate::sga::Sga;
use crate::snapshot::{Done, Snapshot};
use crate::statement::{Table, select, update};
use crate::turn_clock::TurnClock;

/// Runs statements until the last window has ended, in turns if there is a cage, and parks between
/// windows.
pub(crate) fn execute(session: &mut Session<'_>) -> Result<(), Error> {
    let (sga, number) = (session.sga, session.number);
    loop {
        let mut turn = Turn::enter(sga, number, &mut session.reader.waits);
        let mut goes_on = session.after_wait();
        while goes_on {
            goes_on = session.statement()?;
            if goes_on && turn.offer(session.now_ns, &mut session.reader.waits) {
                goes_on = session.after_wait();
            }
        }
        turn.leave();
        if !session.park() {
            break;
        }
    }
    if session.has_published {
        if let Some(load) = &mut session.load {
            load.verify()?;
        }
        sga.set_state(number, SessionState::Finished);
    }
    Ok(())
}

pub(crate) struct Session<'m> {
    sga: Sga<'m>,
    number: u32,
    table: Table,
    /// The load that replaces statements.
    load: Option<Box<dyn Load>>,
    /// Work of the load.
    own_work: u64,
    /// Its access to the cache.
    pub reader: Reader<'m>,
    update_pct: u32,
    pub handicap: Handicap,
    random: fastrand::Rng,
    now_ns: u64,
    statements: u64,
    rows: u64,
    wrong: u64,
    clock: TurnClock<'m>,
    window: Option<Snapshot>,
    /// What was done in the windows of the series that have ended, and their number.
    done: Done,
    windows_done: usize,
    has_published: bool,
    cpus_used: [u64; CPU_WORDS],
    latency: [u64; HISTOGRAM_BUCKETS],
    latency_max_ns: u64,
}

impl<'m> Session<'m> {
    pub(crate) fn new(
        sga: Sga<'m>,
        reader: Reader<'m>,
        load: Option<Box<dyn Load>>,
        order: &SessionOrder,
        update_pct: u32,
    ) -> Self {
        Session {
            sga,
            number: order.session,
            table: Table::of(&sga.layout, order.session),
            load,
            own_work: 0,
            reader,
            update_pct,
            handicap: Handicap::of_percent(0.0),
            random: fastrand::Rng::with_seed(order.seed),
            now_ns: monotonic_ns(),
            statements: 0,
            rows: 0,
            wrong: 0,
            clock: TurnClock::new(sga, order.session),
            window: None,
            done: Done::default(),
            windows_done: 0,
            has_published: false,
            cpus_used: [0; CPU_WORDS],
            latency: [0; HISTOGRAM_BUCKETS],
            latency_max_ns: 0,
        }
    }

    /// Executes one statement, or a piece of the load, and updates the counters. Returns whether to
    /// continue.
    #[inline]
    fn statement(&mut self) -> Result<bool, Error> {
        if let Some(cost) = &mut self.reader.cost {
            cost.look();
        }
        let start_ns = monotonic_ns();
        let work = match &mut self.load {
            None => self.read_rows()?,
            Some(load) => {
                self.own_work += load.piece(&mut self.reader)?;
                self.own_work
            }
        };
        if self.handicap.repeats() {
            self.repeat()?;
        }
        self.now_ns = monotonic_ns();
        self.statements += 1;
        let live = &self.sga.slots[self.number as usize].live.0;
        live.work.store(work, Ordering::Relaxed);
        live.statements.store(self.statements, Ordering::Relaxed);
        let goes_on = self.keep_window(self.now_ns - start_ns);
        let stop = &self.sga.control.gate.0.stop;
        Ok(goes_on && stop.load(Ordering::Relaxed) == 0)
    }

    /// Reads or updates as many rows as the work unit; returns the logical reads so far.
    #[inline]
    fn read_rows(&mut self) -> Result<u64, Error> {
        let work_unit = &self.sga.control.gate.0.work_unit;
        let work_unit = work_unit.load(Ordering::Relaxed).clamp(1, self.table.rows);
        let first_key = self.random.u64(0..=u64::from(self.table.rows - work_unit));
        // Draw no random number if there is no choice.
        let updates = self.update_pct > 0 && self.random.u32(0..100) < self.update_pct;
        let answer = match updates {
            false => select(&mut self.reader, self.table, first_key, work_unit)?,
            true => update(&mut self.reader, self.table, first_key, work_unit)?,
        };
        self.rows += u64::from(answer.rows);
        self.wrong += u64::from(answer.wrong);
        std::hint::black_box(answer.sum);
        if updates {
            let live = &self.sga.slots[self.number as usize].live.0;
            let (rows, keys) = (self.reader.rows_updated, self.reader.updated_keys);
            live.updates.store(rows, Ordering::Relaxed);
            live.updated_keys.store(keys, Ordering::Relaxed);
        }
        Ok(self.reader.logical_reads)
    }

    /// Reads or updates rows again, uncounted but for what is wrong with them.
    #[cold]
    fn repeat(&mut self) -> Result<(), Error> {
        let (logical_reads, rows) = (self.reader.logical_reads, self.rows);
        self.read_rows()?;
        (self.reader.logical_reads, self.rows) = (logical_reads, rows);
        Ok(())
    }

    /// Begins, continues or ends the measured window. Returns whether there is more to do.
    #[inline]
    fn keep_window(&mut self, latency_ns: u64) -> bool {
        let start = match self.window {
            Some(start) => start,
            None if self.now_ns < self.clock.start_ns() => return true,
            None => {
                let start = self.snapshot().as_of(self.clock.start_ns());
                self.window = Some(start);
                // It may have waited for a CPU throughout its window.
                if self.now_ns >= self.clock.end_ns() {
                    self.end_window(&start);
                    return false;
                }
                return true;
            }
        };
        let cpu = current_cpu().0 as usize;
        self.cpus_used[cpu / 64 % CPU_WORDS] |= 1 << (cpu % 64);
        self.latency[histogram::bucket(latency_ns)] += 1;
        self.latency_max_ns = self.latency_max_ns.max(latency_ns);
        if self.now_ns < self.clock.end_ns() {
            return true;
        }
        self.end_window(&start);
        false
    }

    /// Updates the window after a wait for a turn, during which it may have begun or ended. Returns
    /// whether there is more to do.
    fn after_wait(&mut self) -> bool {
        let start_ns = self.clock.start_ns();
        self.now_ns = monotonic_ns();
        if self.window.is_none() && self.now_ns >= start_ns {
            let waits = self.reader.waits.as_of(start_ns);
            self.window = Some(self.snapshot().after_waits(start_ns, waits));
        }
        match self.window {
            Some(start) if self.now_ns >= self.clock.end_ns() => {
                self.end_window(&start);
                false
            }
            _ => self.sga.control.gate.0.stop.load(Ordering::Relaxed) == 0,
        }
    }

    /// Sleeps after a window until the next one, of this series or the next. Returns whether there
    /// is one.
    fn park(&mut self) -> bool {
        if self.window.is_none() || !self.clock.parks() {
            return false;
        }
        self.window = None;
        if self.windows_done == self.clock.windows() {
            self.done = Done::default();
            self.windows_done = 0;
            self.latency = [0; HISTOGRAM_BUCKETS];
            self.latency_max_ns = 0;
            self.wrong = 0;
        }
        self.clock.sleep(self.windows_done)
    }

    fn snapshot(&self) -> Snapshot {
        let own_work = self.load.is_some().then_some(self.own_work);
        Snapshot::take(&self.reader, own_work, self.statements, self.rows)
    }

    /// Ends a window, and publishes the series if it was the last.
    fn end_window(&mut self, start: &Snapshot) {
        let end = self.snapshot().as_of(self.clock.end_ns());
        let work = self.done.add(start, &end);
        let result: &SessionResult = &self.sga.slots[self.number as usize].result;
        result.work_of_windows[self.windows_done].store(work, Ordering::Relaxed);
        self.windows_done += 1;
        if self.windows_done == self.clock.windows() {
            self.publish(result);
        }
    }

    fn publish(&mut self, result: &SessionResult) {
        self.done.publish(result);
        let set = |field: &AtomicU64, value: u64| field.store(value, Ordering::Relaxed);
        set(&result.rows_wrong, self.wrong);
        result
            .cpus_used
            .iter()
            .zip(self.cpus_used)
            .for_each(|(field, word)| set(field, word));
        result
            .latency
            .iter()
            .zip(self.latency)
            .for_each(|(field, count)| set(field, count));
        set(&result.latency_max_ns, self.latency_max_ns);
        set(&result.parks, self.clock.parks);
        set(&result.parked_ns, self.clock.parked_ns);
        set(&result.parked_cpu_ns, self.clock.parked_cpu_ns);
        self.has_published = true;
    }
}
