//! One trial of many short windows. The coordinator opens each, interleaved with windows of other
//! cases, so that a neighbour's busy second affects all cases alike. Between windows the sessions
//! sleep on a futex.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use linux::clock::monotonic_ns;
use linux::machine_counters::{self, MachineCounters};
use linux::proc_status::{self, Allowed};
use model::{Evidence, Outcome, ParkedEvidence, Sample, Trial};
use placement::evidence::residency;

use crate::instance::Instance;
use crate::order::{
    Commands, InstanceCommand, InstanceReport, PhaseWord, Report, Task, WindowReport,
};
use crate::results::{self, Total};
use crate::sessions::Sessions;
use crate::trial::{Before, PUBLISH_WITHIN};
use crate::{Error, cage, own_memory, trial};

/// Minimum time from setting a window to its start, so that every session sees it.
const LEAD_MIN_NS: u64 = 1_000_000;
/// How often to check whether all sessions are parked.
const LOOK_EVERY: Duration = Duration::from_micros(500);

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
    /// Windows opened, including those without length.
    opened: u32,
    /// Seconds that sessions ran outside of windows and lead-ins.
    warm_up_s: f64,
}

/// A measured window.
struct Window {
    at_ns: u64,
    total: Total,
    before: MachineCounters,
    after: MachineCounters,
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
    up.wait_until_parked()?;
    let rows_wrong = results::collect(&up.instance.sga).rows_wrong;
    up.allowed = up.ask_what_is_allowed()?;
    report(InstanceReport::Parked)?;
    let mut windows = Vec::new();
    let kept = loop {
        match commands()? {
            Some(InstanceCommand::Open {
                lead_in_s,
                window_s,
            }) => {
                let window = up.measure(lead_in_s, window_s)?;
                let rate = window.total.work_per_s();
                report(InstanceReport::Progress {
                    phase: PhaseWord::Measuring,
                    value: Some(trial::live_value(up.instance, rate)),
                })?;
                report(InstanceReport::Window(window.report()))?;
                windows.push(window);
            }
            Some(InstanceCommand::Trace { seconds, every_s }) => {
                report(InstanceReport::Trace(up.trace(seconds, every_s)?))?;
            }
            Some(InstanceCommand::Close { kept }) => break kept,
            None => return Err(protocol("the coordinator is gone")),
        }
    };
    let windows: Vec<(Window, bool)> = windows
        .into_iter()
        .zip(kept.into_iter().chain(std::iter::repeat(true)))
        .collect();
    let trial = up.conclude(round, &windows, rows_wrong)?;
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
        }
    }

    /// Sets the window for running sessions.
    fn set_window(&mut self, start_ns: u64, end_ns: u64) {
        let window = &self.instance.sga.control.window.0;
        // Set the end first: a session that sees the start must see the matching end.
        window.end_ns.store(end_ns, Ordering::Release);
        window.start_ns.store(start_ns, Ordering::Release);
        self.opened += 1;
    }

    /// Resumes parked sessions for a window.
    fn open(&mut self, start_ns: u64, end_ns: u64) {
        cage::deal(&self.instance.sga, self.opened);
        self.set_window(start_ns, end_ns);
        self.wake();
    }

    fn wake(&self) {
        let opened = &self.instance.sga.control.window.0.opened;
        opened.fetch_add(1, Ordering::Release);
        linux::futex::wake(opened, u32::MAX >> 1);
    }

    /// Waits until every session has published its window and is parked.
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

    fn measure(&mut self, lead_in_s: f64, window_s: f64) -> Result<Window, Error> {
        let counters =
            || machine_counters::read(&self.instance.root).map_err(placement::Error::from);
        let lead_ns = ((lead_in_s * 1e9) as u64).max(LEAD_MIN_NS);
        let start_ns = monotonic_ns() + lead_ns;
        let end_ns = start_ns + (window_s * 1e9) as u64;
        self.open(start_ns, end_ns);
        trial::sleep_until(start_ns);
        let before = counters()?;
        trial::sleep_until(end_ns);
        let after = counters()?;
        self.wait_until_parked()?;
        self.look_at_the_placement()?;
        Ok(Window {
            at_ns: start_ns,
            total: results::collect(&self.instance.sga),
            before,
            after,
        })
    }

    /// Returns the work done over time, from the moment that parked sessions may run.
    fn trace(&mut self, seconds: f64, every_s: f64) -> Result<Vec<(f64, u64)>, Error> {
        let sga = &self.instance.sga;
        let (done, begun) = (sga.live_totals().0, Instant::now());
        let begun_ns = monotonic_ns();
        let end_ns = begun_ns + (seconds * 1e9) as u64;
        self.open(end_ns, end_ns);
        let mut points = Vec::with_capacity((seconds / every_s.max(1e-4)) as usize + 1);
        while begun.elapsed().as_secs_f64() < seconds {
            std::thread::sleep(Duration::from_secs_f64(every_s));
            let work = self.instance.sga.live_totals().0 - done;
            points.push((begun.elapsed().as_secs_f64(), work));
        }
        self.wait_until_parked()?;
        self.warm_up_s += seconds;
        Ok(points)
    }

    fn ask_what_is_allowed(&self) -> Result<Vec<Allowed>, Error> {
        let pids = self.sessions.pids().into_iter();
        let allowed = pids.map(|pid| proc_status::allowed(&self.instance.root, pid));
        let allowed: Result<Vec<Allowed>, linux::Error> = allowed.collect();
        Ok(allowed.map_err(placement::Error::from)?)
    }

    /// Reads back, after each window, where the pages are and what the sessions may use.
    fn look_at_the_placement(&mut self) -> Result<(), Error> {
        let page_bytes = self.instance.order.work.sga.page_bytes;
        let pages = residency(self.instance.mapping, page_bytes)?;
        let window = self.opened - 1;
        if pages.bytes_by_node != self.before.sga.bytes_by_node {
            self.changed.push(format!(
                "pages of the SGA moved before or in window {window}"
            ));
        }
        if self.ask_what_is_allowed()? != self.allowed {
            self.changed.push(format!(
                "the CPUs or nodes that a session may use changed before or in window {window}"
            ));
        }
        Ok(())
    }

    /// Lets the sessions finish, reads all evidence back, and sums the windows that count.
    fn conclude(
        mut self,
        round: u32,
        windows: &[(Window, bool)],
        rows_wrong: u64,
    ) -> Result<Trial, Error> {
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
        evidence.parked = Some(parked(instance, self.opened));
        instance.stop();
        if instance.order.work.load.cpu_count.is_some() {
            let running_max = &instance.sga.control.cage.0.running_max;
            evidence.running_sessions_max = Some(running_max.load(Ordering::Relaxed));
        }
        let mut total = Total::of_no_window();
        let counted = windows.iter().filter(|(_, kept)| *kept);
        counted
            .clone()
            .for_each(|(window, _)| total.absorb(&window.total));
        evidence.rows_verified = total.rows_verified;
        note_counters(&mut evidence, windows);
        let window_s = total.seconds_of_a_session(instance.order.work.load.sessions);
        let samples = samples(windows);
        let measured = total.measured(instance.order, self.warm_up_s, window_s, samples);
        let wrong: u64 = windows.iter().map(|(it, _)| it.total.rows_wrong).sum();
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
}

impl Window {
    fn report(&self) -> WindowReport {
        let (steal_s, other_cpu_s) = taken(&self.before, &self.after, self.total.db_cpu_s());
        WindowReport {
            work_per_s: self.total.work_per_s(),
            steal_s,
            other_cpu_s,
        }
    }
}

/// Returns the steal time between two readings, and the CPU time of other programs.
fn taken(
    before: &MachineCounters,
    after: &MachineCounters,
    ours_cpu_s: f64,
) -> (Option<f64>, Option<f64>) {
    let mut evidence = Evidence::default();
    trial::note_counters(&mut evidence, before, after, ours_cpu_s);
    (evidence.steal_s, evidence.other_cpu_s)
}

/// Records the steal and other CPU time of the windows that count, and the pages that automatic
/// NUMA balancing migrated from the first window to the last.
fn note_counters(evidence: &mut Evidence, windows: &[(Window, bool)]) {
    if let (Some((first, _)), Some((last, _))) = (windows.first(), windows.last()) {
        trial::note_counters(evidence, &first.before, &last.after, 0.0);
    }
    let kept = windows.iter().filter(|(_, kept)| *kept);
    let reports: Vec<WindowReport> = kept.map(|(window, _)| window.report()).collect();
    let sum = |of: fn(&WindowReport) -> Option<f64>| reports.iter().map(of).sum::<Option<f64>>();
    evidence.steal_s = sum(|it| it.steal_s);
    evidence.other_cpu_s = sum(|it| it.other_cpu_s);
}

/// Returns one sample per window.
fn samples(windows: &[(Window, bool)]) -> Vec<Sample> {
    let Some((first, _)) = windows.first() else {
        return Vec::new();
    };
    let sample = |(window, kept): &(Window, bool)| Sample {
        at_s: (window.at_ns - first.at_ns) as f64 / 1e9,
        logical_reads_per_s: window.total.work_per_s(),
        left_out: !kept,
        steal_s: window.report().steal_s,
        other_cpu_s: window.report().other_cpu_s,
    };
    windows.iter().map(sample).collect()
}

/// Returns how long the sessions were parked, and how much CPU time they used while parked.
fn parked(instance: &Instance<'_>, opened: u32) -> ParkedEvidence {
    let sum = |of: fn(&crate::layout::SessionResult) -> &AtomicU64| {
        let slots = instance.sga.session_slots().iter();
        let ns: u64 = slots
            .map(|slot| of(&slot.result).load(Ordering::Relaxed))
            .sum();
        ns as f64 / 1e9
    };
    ParkedEvidence {
        times: u64::from(opened) * u64::from(instance.sga.layout.sessions),
        parked_s: sum(|it| &it.parked_ns),
        cpu_s: sum(|it| &it.parked_cpu_ns),
    }
}
