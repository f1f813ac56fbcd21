//! One trial of a running instance: warm-up, window, evidence, outcome.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use linux::Root;
use linux::clock::monotonic_ns;
use linux::machine_counters::{self, MachineCounters};
use model::{CpuId, Evidence, Outcome, Sample, SessionEvidence, Trial, UpdateFigures, counted};
use placement::evidence::Residency;

use crate::checkpoint::Checkpoint;
use crate::instance::Instance;
use crate::layout::{SessionSlot, SessionState, WriterCounters};
use crate::order::{InstanceReport, PhaseWord, Report, Task};
use crate::sessions::Sessions;
use crate::sga::Sga;
use crate::{Error, checkpoint, own_memory, results};

/// Shortest time between two samples of the warm-up, s.
const STEP_S_MIN: f64 = 0.02;
/// Samples per window.
const WINDOW_SAMPLES: u32 = 20;
/// Time from setting a window to its start, so that every session sees it.
const WINDOW_LEAD_NS: u64 = 20_000_000;
/// Timeout for sessions to publish after the end of a window.
pub(crate) const PUBLISH_WITHIN: Duration = Duration::from_secs(60);

/// Where memory lay before the window.
pub(crate) struct Before {
    /// The memory of the SGA.
    pub sga: Residency,
    /// The own memory of sessions.
    pub own_memory: own_memory::Found,
}

/// Runs the trial and reports it.
pub(crate) fn run(
    instance: &Instance<'_>,
    sessions: &mut Sessions,
    mut evidence: Evidence,
    before: &Before,
    report: &mut Report<'_>,
) -> Result<(), Error> {
    let Task::Trial {
        round,
        window_s,
        warm_up_s_min,
        warm_up_s_max,
        ..
    } = instance.order.task
    else {
        return Err(Error::Protocol {
            what: "trial",
            cause: "not asked for".to_owned(),
        });
    };
    let bounds = (warm_up_s_min, warm_up_s_max);
    let warm_up = warm_up(instance, sessions, bounds, report)?;
    let window = measure(instance, sessions, window_s, report)?;
    evidence.sga = Some(instance.sga_evidence(&before.sga)?);
    let pids = sessions.pids();
    evidence.sessions = evidence_of_sessions(&instance.root, &instance.sga, &pids)?;
    let own_after = own_memory::found(instance, &pids)?;
    own_memory::note(instance, &before.own_memory, own_after, &mut evidence);
    evidence.writers = evidence_of_writers(&instance.root, &instance.sga, &sessions.writer_pids())?;
    let checkpoint = match instance.sga.layout.writers {
        0 => None,
        _ => Some(checkpoint::run(instance, sessions)?),
    };
    instance.stop();
    if instance.order.work.load.cpu_count.is_some() {
        let running_max = &instance.sga.control.cage.0.running_max;
        evidence.running_sessions_max = Some(running_max.load(Ordering::Relaxed));
    }
    let total = results::collect(&instance.sga);
    evidence.rows_verified = total.rows_verified;
    let mut measured = total.measured(instance.order, warm_up.seconds, window_s, window.samples);
    let ours_cpu_s = total.db_cpu_s() + window.writers.cpu_s;
    note_counters(&mut evidence, &window.before, &window.after, ours_cpu_s);
    if let (Some(sessions), Some(checkpoint)) = (&mut measured.sessions, &checkpoint) {
        sessions.updates = Some(update_figures(&total, &window.writers, checkpoint));
    }
    let mut warnings: Vec<String> = warm_up.warning().into_iter().collect();
    warnings.extend(instance.warnings());
    // The coordinator, which reads the group back too, decides whether the placement holds.
    let outcome = match (total.rows_wrong, checkpoint.and_then(|it| it.wrong)) {
        (0, None) => Outcome::Valid,
        (0, Some(wrong)) => Outcome::Failed(wrong),
        (wrong, _) => Outcome::Failed(format!("{} read were wrong", counted(wrong, "row"))),
    };
    let trial = Trial {
        round,
        outcome,
        measured: Some(measured),
        report: None,
        evidence,
        warnings,
    };
    report(InstanceReport::Trial(Box::new(trial)))
}

fn update_figures(
    total: &results::Total,
    writers: &Written,
    checkpoint: &Checkpoint,
) -> UpdateFigures {
    UpdateFigures {
        rows_updated: total.rows_updated,
        blocks_written: writers.blocks,
        writers_cpu_s: writers.cpu_s,
        checkpoint_s: checkpoint.seconds,
        updates_in_file: checkpoint.updates_in_file,
    }
}

/// Result of the warm-up.
struct WarmUp {
    seconds: f64,
    steady: bool,
}

impl WarmUp {
    /// Returns a warning if the rate was not steady.
    fn warning(&self) -> Option<String> {
        let seconds = self.seconds;
        let warning = || format!("the rate was not steady after {seconds:.1} s of warm-up");
        (!self.steady).then(warning)
    }
}

/// Lets the sessions run until their rate is steady, within limits in seconds.
fn warm_up(
    instance: &Instance<'_>,
    sessions: &mut Sessions,
    (min_s, max_s): (f64, f64),
    report: &mut Report<'_>,
) -> Result<WarmUp, Error> {
    let start_ns = monotonic_ns();
    let mut rule = stats::WarmUp::new(min_s, max_s);
    let step = Duration::from_secs_f64(rule.step_s(STEP_S_MIN));
    let mut meter = Meter::start(instance);
    loop {
        std::thread::sleep(step);
        sessions.check_alive(&instance.sga)?;
        let rate = meter.rate(instance);
        report(InstanceReport::Progress {
            phase: PhaseWord::WarmingUp,
            value: Some(live_value(instance, rate)),
        })?;
        let seconds = (monotonic_ns() - start_ns) as f64 / 1e9;
        if let Some(steady) = rule.ends(rate, false, seconds) {
            return Ok(WarmUp { seconds, steady });
        }
    }
}

/// A measured window.
struct Window {
    samples: Vec<Sample>,
    before: MachineCounters,
    after: MachineCounters,
    writers: Written,
}

/// Work of all database writers so far, or between two points in time.
struct Written {
    blocks: u64,
    cpu_s: f64,
}

impl Written {
    fn so_far(sga: &Sga<'_>) -> Self {
        let sum = |of: fn(&WriterCounters) -> &AtomicU64| {
            let counters = sga.writer_slots().iter().map(|slot| &slot.writer.0);
            counters
                .map(|it| of(it).load(Ordering::Relaxed))
                .sum::<u64>()
        };
        Written {
            blocks: sum(|it| &it.blocks_written),
            cpu_s: sum(|it| &it.cpu_ns) as f64 / 1e9,
        }
    }

    fn since(&self, earlier: &Written) -> Self {
        Written {
            blocks: self.blocks - earlier.blocks,
            cpu_s: self.cpu_s - earlier.cpu_s,
        }
    }
}

/// Sets the window, samples it, and waits until every session has published.
fn measure(
    instance: &Instance<'_>,
    sessions: &mut Sessions,
    window_s: f64,
    report: &mut Report<'_>,
) -> Result<Window, Error> {
    let start_ns = monotonic_ns() + WINDOW_LEAD_NS;
    let end_ns = start_ns + (window_s * 1e9) as u64;
    let window = &instance.sga.control.window.0;
    // Set the end first: a session that sees the start must see the matching end.
    window.end_ns.store(end_ns, Ordering::Release);
    window.start_ns.store(start_ns, Ordering::Release);
    sleep_until(start_ns);
    let before = machine_counters::read(&instance.root).map_err(placement::Error::from)?;
    let written_before = Written::so_far(&instance.sga);
    let mut meter = Meter::start(instance);
    let mut samples = Vec::with_capacity(WINDOW_SAMPLES as usize);
    for number in 1..=u64::from(WINDOW_SAMPLES) {
        sleep_until(start_ns + (end_ns - start_ns) * number / u64::from(WINDOW_SAMPLES));
        let rate = meter.rate(instance);
        let at_s = meter.since_ns.saturating_sub(start_ns) as f64 / 1e9;
        samples.push(Sample {
            at_s,
            logical_reads_per_s: rate,
            ..Sample::default()
        });
        sessions.check_alive(&instance.sga)?;
        report(InstanceReport::Progress {
            phase: PhaseWord::Measuring,
            value: Some(live_value(instance, rate)),
        })?;
    }
    let after = machine_counters::read(&instance.root).map_err(placement::Error::from)?;
    let writers = Written::so_far(&instance.sga).since(&written_before);
    let sga = &instance.sga;
    let slots = sga.session_slots();
    sessions.wait_for(sga, slots, SessionState::Finished, PUBLISH_WITHIN)?;
    Ok(Window {
        samples,
        before,
        after,
        writers,
    })
}

/// Converts a rate of work to the metric of the run.
pub(crate) fn live_value(instance: &Instance<'_>, rate: f64) -> f64 {
    let order = instance.order;
    let load = order.own.as_ref().map(|own| own.load);
    match load.is_some_and(|load| load.metric().facts().is_ns_per_piece) {
        true => 1e9 * f64::from(order.work.load.sessions) / rate,
        false => rate,
    }
}

pub(crate) fn sleep_until(at_ns: u64) {
    std::thread::sleep(Duration::from_nanos(at_ns.saturating_sub(monotonic_ns())));
}

/// Measures the rate of all sessions between two readings of their live counters.
struct Meter {
    work: u64,
    since_ns: u64,
}

impl Meter {
    fn start(instance: &Instance<'_>) -> Self {
        Meter {
            work: instance.sga.live_totals().0,
            since_ns: monotonic_ns(),
        }
    }

    fn rate(&mut self, instance: &Instance<'_>) -> f64 {
        let now = Meter::start(instance);
        let seconds = (now.since_ns - self.since_ns).max(1) as f64 / 1e9;
        let rate = (now.work - self.work) as f64 / seconds;
        *self = now;
        rate
    }
}

pub(crate) fn note_counters(
    evidence: &mut Evidence,
    before: &MachineCounters,
    after: &MachineCounters,
    ours_cpu_s: f64,
) {
    let migrated = before.numa_pages_migrated.zip(after.numa_pages_migrated);
    evidence.numa_pages_migrated = migrated.map(|(before, after)| after.saturating_sub(before));
    let gain = |before: Option<f64>, after: Option<f64>| Some(after? - before?);
    evidence.steal_s = gain(before.steal_s, after.steal_s);
    let busy_s = gain(before.busy_s, after.busy_s);
    evidence.other_cpu_s = busy_s.map(|busy_s| (busy_s - ours_cpu_s).max(0.0));
}

/// Returns what the kernel permits each session, and which CPUs it used. Sessions stay alive until
/// they are stopped, so that the kernel still reports on them.
pub(crate) fn evidence_of_sessions(
    root: &Root,
    sga: &Sga<'_>,
    pids: &[u32],
) -> Result<Vec<SessionEvidence>, Error> {
    evidence_of_processes(root, sga, 0, pids)
}

/// Returns the same for each database writer. Writers stay alive, too.
fn evidence_of_writers(
    root: &Root,
    sga: &Sga<'_>,
    pids: &[u32],
) -> Result<Vec<SessionEvidence>, Error> {
    evidence_of_processes(root, sga, sga.layout.sessions, pids)
}

/// Returns the evidence of processes whose slots start with number `first`.
fn evidence_of_processes(
    root: &Root,
    sga: &Sga<'_>,
    first: u32,
    pids: &[u32],
) -> Result<Vec<SessionEvidence>, Error> {
    (first..)
        .zip(pids)
        .map(|(process, pid)| {
            let slot = &sga.slots[process as usize];
            // A process that has ended since its window can no longer be read.
            evidence_of(root, *pid, slot).map_err(|error| Error::Process {
                process: sga.layout.name_of(process),
                cause: format!("cannot be read back: {error}"),
            })
        })
        .collect()
}

fn evidence_of(root: &Root, pid: u32, slot: &SessionSlot) -> Result<SessionEvidence, Error> {
    let allowed = linux::proc_status::allowed(root, pid).map_err(placement::Error::from)?;
    let words = slot.result.cpus_used.iter();
    let cpus_used = (0u32..).zip(words).flat_map(|(index, word)| {
        let word = word.load(Ordering::Relaxed);
        let bits = (0..64u32).filter(move |bit| word >> bit & 1 == 1);
        bits.map(move |bit| CpuId(index * 64 + bit))
    });
    Ok(SessionEvidence {
        pid,
        cpus_allowed: allowed.cpus,
        memory_nodes_allowed: allowed.memory_nodes,
        cpus_used: cpus_used.collect(),
        policy: placement::evidence::policy_of_process(root, pid)?,
        bytes_read_by_node: Default::default(),
        own_memory: None,
    })
}

#[cfg(test)]
mod tests {
    use super::evidence_of_sessions;
    use crate::sga::Sga;
    use crate::small_sga::{layout, mapped};
    use linux::Root;

    #[test]
    fn a_session_that_cannot_be_read_back_is_named() {
        let layout = layout(2, 1 << 20);
        let mapping = mapped(layout.bytes);
        let sga = Sga::create(&mapping, layout);
        // No process has the highest id: the kernel's limit is far lower.
        let pids = [std::process::id(), i32::MAX as u32];
        let error = evidence_of_sessions(&Root::live(), &sga, &pids).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("session 1: cannot be read back: "),
            "{text}"
        );
        let evidence = evidence_of_sessions(&Root::live(), &sga, &pids[..1]).unwrap();
        assert_eq!(evidence[0].pid, std::process::id());
    }
}
