//! One trial of many short windows. The coordinator opens them in series, interleaved with windows
//! of other cases, so that a neighbour's busy second affects all cases alike. Inside a series the
//! sessions take their turns by the clock; between windows they sleep on a futex.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use linux::clock::monotonic_ns;
use linux::machine_counters;
use linux::proc_status::{self, Allowed};
use model::{Evidence, Outcome, ParkedEvidence, Sample, Trial};
use placement::evidence::residency;

use crate::instance::Instance;
use crate::layout::SessionResult;
use crate::order::{
    BlockWord, Commands, InstanceCommand, InstanceReport, PhaseWord, Report, Task, Turns,
    WindowReport,
};
use crate::results::{self, Total};
use crate::sessions::Sessions;
use crate::trial::{Before, PUBLISH_WITHIN};
use crate::{Error, cage, own_memory, trial};

/// How often to check whether all sessions are parked.
const LOOK_EVERY: Duration = Duration::from_micros(500);
/// The placement is read back after so many series, and after the last. It takes milliseconds,
/// which after each series would be missing in windows.
const SERIES_PER_LOOK: u32 = 4;

/// A running instance with running sessions.
pub(crate) struct Up<'i, 'm> {
    instance: &'i Instance<'m>,
    sessions: &'i mut Sessions,
    evidence: Evidence,
    before: &'i Before,
    /// The CPUs and nodes each session was permitted to use when it was first parked.
    allowed: Vec<Allowed>,
    /// Changes of the placement between windows, as text.
    changed: Vec<String>,
    /// Series opened, including those that are not measured.
    opened: u32,
    /// Seconds that sessions ran outside of measured windows and their lead-ins.
    warm_up_s: f64,
    /// Length of a measured window.
    window_s: Option<f64>,
    /// Pages that NUMA balancing had moved before the first window.
    migrated_before: Option<u64>,
    /// CPU time that the sessions had used at the last report.
    cpu_ns: u64,
}

/// A measured series of windows.
struct Series {
    at_ns: u64,
    total: Total,
}

/// Parks the sessions, and executes the coordinator's commands until it closes the trial.
///
/// # Errors
/// [`Error::Process`] when a session ends, [`Error::Protocol`] when the coordinator is gone.
pub(crate) fn run(
    mut up: Up<'_, '_>,
    commands: &mut Commands<'_>,
    report: &mut Report<'_>,
) -> Result<(), Error> {
    let Task::Windows { round, .. } = up.instance.order.task else {
        return Err(protocol("not asked for"));
    };
    // A window without length parks the sessions.
    let now_ns = monotonic_ns();
    up.set_window(now_ns, now_ns);
    up.opened += 1;
    up.wait_until_parked()?;
    let rows_wrong = results::collect(&up.instance.sga).rows_wrong;
    up.allowed = up.ask_what_is_allowed()?;
    up.migrated_before = up.migrated()?;
    report(InstanceReport::Parked)?;
    let mut measured = Vec::new();
    let blocks = loop {
        match commands()? {
            Some(InstanceCommand::Open(turns)) => {
                let (at_ns, late_s) = up.open(&turns)?;
                let series = Series {
                    at_ns,
                    total: results::collect(&up.instance.sga),
                };
                if turns.is_measured {
                    report(InstanceReport::Progress {
                        phase: PhaseWord::Measuring,
                        value: Some(trial::live_value(up.instance, series.total.work_per_s())),
                    })?;
                }
                let told = up.report(&turns, &series.total, late_s);
                report(InstanceReport::Window(told))?;
                if turns.is_measured {
                    measured.push(series);
                }
            }
            Some(InstanceCommand::Close { blocks }) => break blocks,
            None => return Err(protocol("the coordinator is gone")),
        }
    };
    let measured: Vec<(Series, BlockWord)> = measured.into_iter().zip(blocks).collect();
    let trial = up.conclude(round, &measured, rows_wrong)?;
    report(InstanceReport::Trial(Box::new(trial)))
}

fn protocol(cause: &str) -> Error {
    Error::Protocol {
        what: "trial of windows",
        cause: cause.to_owned(),
    }
}

impl<'i, 'm> Up<'i, 'm> {
    pub(crate) fn new(
        instance: &'i Instance<'m>,
        sessions: &'i mut Sessions,
        evidence: Evidence,
        before: &'i Before,
    ) -> Self {
        Up {
            instance,
            sessions,
            evidence,
            before,
            allowed: Vec::new(),
            changed: Vec::new(),
            opened: 0,
            warm_up_s: 0.0,
            window_s: None,
            migrated_before: None,
            cpu_ns: 0,
        }
    }

    /// Sets the window for running sessions.
    fn set_window(&mut self, start_ns: u64, end_ns: u64) {
        let window = &self.instance.sga.control.window.0;
        // Set the end first: a session that sees the start must see the matching end.
        window.end_ns.store(end_ns, Ordering::Release);
        window.start_ns.store(start_ns, Ordering::Release);
    }

    /// Lets parked sessions run in their turns, and waits until the series is over. Returns when
    /// its first turn began, and how late it was opened.
    fn open(&mut self, turns: &Turns) -> Result<(u64, f64), Error> {
        let (Some(&first), Some(&last)) = (turns.turns.first(), turns.turns.last()) else {
            return Err(protocol("a series without turns"));
        };
        if turns.turns.len() > Turns::MAX {
            return Err(protocol("a series of too many turns"));
        }
        let sga = &self.instance.sga;
        cage::deal(sga, self.opened);
        let series = &sga.control.series.0;
        let set = |field: &AtomicU64, value: u64| field.store(value, Ordering::Relaxed);
        set(&series.first_ns, turns.first_ns);
        set(&series.lead_in_ns, turns.lead_in_ns);
        set(&series.window_ns, turns.window_ns);
        for (field, turn) in series.turns.iter().zip(&turns.turns) {
            field.store(*turn, Ordering::Relaxed);
        }
        let windows = turns.turns.len() as u32;
        series.windows.store(windows, Ordering::Relaxed);
        let begin_ns = turns.begin_ns(first);
        let start_ns = begin_ns + turns.lead_in_ns;
        let end_ns = turns.begin_ns(last) + turns.lead_in_ns + turns.window_ns;
        // The cage looks at these: a case with a cage has one turn in a series.
        self.set_window(start_ns, end_ns);
        self.opened += 1;
        self.wake();
        let late_ns = monotonic_ns().saturating_sub(turns.first_ns);
        trial::sleep_until(end_ns);
        self.wait_until_parked()?;
        if self.opened.is_multiple_of(SERIES_PER_LOOK) {
            self.look_at_the_placement()?;
        }
        let length_s = (turns.lead_in_ns + turns.window_ns) as f64 / 1e9;
        match turns.is_measured {
            true => self.window_s = Some(turns.window_ns as f64 / 1e9),
            false => self.warm_up_s += length_s * f64::from(windows),
        }
        Ok((start_ns, late_ns as f64 / 1e9))
    }

    fn wake(&self) {
        let opened = &self.instance.sga.control.window.0.opened;
        opened.fetch_add(1, Ordering::Release);
        linux::futex::wake(opened, u32::MAX >> 1);
    }

    /// Waits until every session has published its windows and is parked.
    fn wait_until_parked(&mut self) -> Result<(), Error> {
        let sga = &self.instance.sga;
        let deadline = Instant::now() + PUBLISH_WITHIN;
        let is_behind = |slot: &crate::layout::SessionSlot| {
            slot.live.0.windows.load(Ordering::Acquire) < self.opened
        };
        while let Some(session) = sga.session_slots().iter().position(is_behind) {
            self.sessions.check_alive(sga)?;
            if Instant::now() >= deadline {
                return Err(Error::Process {
                    process: sga.layout.name_of(session as u32),
                    cause: format!("was not parked within {PUBLISH_WITHIN:?}"),
                });
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Returns the sum of a figure over all sessions.
    fn sum(&self, of: fn(&SessionResult) -> &AtomicU64) -> u64 {
        let slots = self.instance.sga.session_slots().iter();
        slots
            .map(|slot| of(&slot.result).load(Ordering::Relaxed))
            .sum()
    }

    fn report(&mut self, turns: &Turns, total: &Total, late_s: f64) -> WindowReport {
        let slots = self.instance.sga.session_slots();
        let work = |window: usize| -> u64 {
            let of_sessions = slots
                .iter()
                .map(|slot| &slot.result.work_of_windows[window]);
            of_sessions.map(|it| it.load(Ordering::Relaxed)).sum()
        };
        let window_s = turns.window_ns.max(1) as f64 / 1e9;
        let rates = (0..turns.turns.len()).map(|window| work(window) as f64 / window_s);
        let cpu_ns = self.sum(|it| &it.cpu_ns_in_all);
        let used_ns = cpu_ns - std::mem::replace(&mut self.cpu_ns, cpu_ns);
        let parks = self.sum(|it| &it.parks).max(1);
        WindowReport {
            work_per_s: rates.collect(),
            cpu_s: used_ns as f64 / 1e9,
            statement_s: total.statement_s(),
            park_cpu_s: self.sum(|it| &it.parked_cpu_ns) as f64 / 1e9 / parks as f64,
            late_s,
        }
    }

    fn migrated(&self) -> Result<Option<u64>, Error> {
        let counters =
            machine_counters::read(&self.instance.root).map_err(placement::Error::from)?;
        Ok(counters.numa_pages_migrated)
    }

    fn ask_what_is_allowed(&self) -> Result<Vec<Allowed>, Error> {
        let pids = self.sessions.pids().into_iter();
        let allowed = pids.map(|pid| proc_status::allowed(&self.instance.root, pid));
        let allowed: Result<Vec<Allowed>, linux::Error> = allowed.collect();
        Ok(allowed.map_err(placement::Error::from)?)
    }

    /// Reads back, between two series, where the pages are and what the sessions may use.
    fn look_at_the_placement(&mut self) -> Result<(), Error> {
        let page_bytes = self.instance.order.work.sga.page_bytes;
        let pages = residency(self.instance.mapping, page_bytes)?;
        let series = self.opened;
        if pages.bytes_by_node != self.before.sga.bytes_by_node {
            self.changed.push(format!(
                "pages of the SGA moved before or in series {series} of windows"
            ));
        }
        if self.ask_what_is_allowed()? != self.allowed {
            self.changed.push(format!(
                "the CPUs or nodes that a session may use changed before or in series {series} of \
                 windows"
            ));
        }
        Ok(())
    }

    /// Lets the sessions finish, reads all evidence back, and sums the windows that count.
    fn conclude(
        mut self,
        round: u32,
        measured: &[(Series, BlockWord)],
        rows_wrong: u64,
    ) -> Result<Trial, Error> {
        self.look_at_the_placement()?;
        let instance = self.instance;
        let parks = &instance.sga.control.window.0.parks;
        parks.store(0, Ordering::Release);
        self.wake();
        let slots = instance.sga.session_slots();
        let finished = crate::layout::SessionState::Finished;
        self.sessions
            .wait_for(&instance.sga, slots, finished, PUBLISH_WITHIN)?;
        let mut evidence = std::mem::take(&mut self.evidence);
        evidence.sga = Some(instance.sga_evidence(&self.before.sga)?);
        let pids = self.sessions.pids();
        evidence.sessions = trial::evidence_of_sessions(&instance.root, &instance.sga, &pids)?;
        let own_after = own_memory::found(instance, &pids)?;
        own_memory::note(instance, &self.before.own_memory, own_after, &mut evidence);
        evidence.parked = Some(self.parked());
        evidence.numa_pages_migrated = self
            .migrated_before
            .zip(self.migrated()?)
            .map(|(before, after)| after.saturating_sub(before));
        instance.stop();
        if instance.order.work.load.cpu_count.is_some() {
            let running_max = &instance.sga.control.cage.0.running_max;
            evidence.running_sessions_max = Some(running_max.load(Ordering::Relaxed));
        }
        let mut total = Total::of_no_window();
        let counted = || measured.iter().filter(|(_, block)| block.kept);
        counted().for_each(|(series, _)| total.absorb(&series.total));
        evidence.rows_verified = total.rows_verified;
        evidence.steal_s = counted().map(|(_, block)| block.taken.steal_s).sum();
        evidence.other_cpu_s = counted().map(|(_, block)| block.taken.other_cpu_s).sum();
        let window_s = total.seconds_of_a_session(instance.order.work.load.sessions);
        let samples = samples(measured);
        let wrong: u64 = measured.iter().map(|(it, _)| it.total.rows_wrong).sum();
        let measured = total.measured(instance.order, self.warm_up_s, window_s, samples);
        let outcome = match (wrong + rows_wrong, self.changed.is_empty()) {
            (0, true) => Outcome::Valid,
            (0, false) => Outcome::Invalid(self.changed.join("; ")),
            (wrong, _) => Outcome::Failed(format!("wrong: {} read", model::counted(wrong, "row"))),
        };
        Ok(Trial {
            round,
            outcome,
            measured: Some(measured),
            report: None,
            evidence,
            warnings: instance.warnings(),
        })
    }

    /// Returns how long the sessions were parked, and how much CPU time they used while parked.
    fn parked(&self) -> ParkedEvidence {
        let seconds = |ns: u64| ns as f64 / 1e9;
        ParkedEvidence {
            times: self.sum(|it| &it.parks),
            parked_s: seconds(self.sum(|it| &it.parked_ns)),
            cpu_s: seconds(self.sum(|it| &it.parked_cpu_ns)),
            window_s: self.window_s,
        }
    }
}

/// Returns one sample per series.
fn samples(measured: &[(Series, BlockWord)]) -> Vec<Sample> {
    let Some((first, _)) = measured.first() else {
        return Vec::new();
    };
    let sample = |(series, block): &(Series, BlockWord)| Sample {
        at_s: (series.at_ns - first.at_ns) as f64 / 1e9,
        logical_reads_per_s: series.total.work_per_s(),
        left_out: !block.kept,
        steal_s: block.taken.steal_s,
        other_cpu_s: block.taken.other_cpu_s,
    };
    measured.iter().map(sample).collect()
}
