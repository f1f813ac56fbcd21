//! A trial of parallel scans: the workers scan the column repeatedly, and every sum is verified.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use linux::clock::monotonic_ns;
use linux::machine_counters;
use model::{Evidence, LatencySummary, Measured, NodeId, Outcome, Sample, Trial, counted};
use placement::evidence::Residency;

use crate::block::COLUMN_VALUES;
use crate::instance::Instance;
use crate::layout::{BLOCK_BYTES, ScanPhase, SessionState};
use crate::order::{InstanceReport, PhaseWord, Report, Task};
use crate::sessions::Sessions;
use crate::trial::{evidence_of_sessions, note_counters};
use crate::{Error, results};

/// Bytes of values in a column block: what counts as read by a scan.
const VALUE_BYTES: u64 = COLUMN_VALUES as u64 * 8;
/// How often the instance checks that its workers are alive while it waits for them.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Timeout for workers to publish.
const PUBLISH_WITHIN: Duration = Duration::from_secs(60);

/// One scan.
struct Scan {
    start_ns: u64,
    end_ns: u64,
    /// What is wrong with its sum, if anything.
    wrong: Option<String>,
}

impl Scan {
    fn seconds(&self) -> f64 {
        (self.end_ns - self.start_ns).max(1) as f64 / 1e9
    }
}

/// Runs the trial and reports it. `total` is the sum of the whole column.
pub(crate) fn run(
    instance: &Instance<'_>,
    sessions: &mut Sessions,
    mut evidence: Evidence,
    before: &Residency,
    total: u64,
    report: &mut Report<'_>,
) -> Result<(), Error> {
    let Task::Scan {
        round,
        window_s,
        warm_up_s_min,
        ..
    } = instance.order.task
    else {
        return Err(Error::Protocol {
            what: "scan",
            cause: "not asked for".to_owned(),
        });
    };
    let mut scans = Scans {
        instance,
        sessions,
        total,
    };
    let warm_up = scans.for_seconds(
        ScanPhase::WarmUp,
        warm_up_s_min,
        PhaseWord::WarmingUp,
        report,
    )?;
    let counters_before = machine_counters::read(&instance.root).map_err(placement::Error::from)?;
    let window = scans.for_seconds(ScanPhase::Measure, window_s, PhaseWord::Measuring, report)?;
    let counters_after = machine_counters::read(&instance.root).map_err(placement::Error::from)?;
    scans.publish()?;
    evidence.sga = Some(instance.sga_evidence(before)?);
    evidence.sessions = evidence_of_sessions(&instance.root, &instance.sga, &sessions.pids())?;
    note_reads(instance, &mut evidence);
    instance.stop();
    let results = results::collect(&instance.sga);
    let warm_up_s = warm_up.iter().map(Scan::seconds).sum();
    let db_cpu_s = results.db_cpu_s();
    let measured = measured(instance, &results, &window, warm_up_s);
    note_counters(&mut evidence, &counters_before, &counters_after, db_cpu_s);
    let wrong = warm_up
        .into_iter()
        .chain(window)
        .find_map(|scan| scan.wrong);
    report(InstanceReport::Trial(Box::new(Trial {
        round,
        outcome: wrong.map_or(Outcome::Valid, Outcome::Failed),
        report: None,
        measured: Some(measured),
        evidence,
        warnings: instance.warnings(),
    })))
}

/// Runs scans, one after the other.
struct Scans<'i, 'm> {
    instance: &'i Instance<'m>,
    sessions: &'i mut Sessions,
    total: u64,
}

impl Scans<'_, '_> {
    /// Runs whole scans, at least one, until `seconds` have passed.
    fn for_seconds(
        &mut self,
        phase: ScanPhase,
        seconds: f64,
        word: PhaseWord,
        report: &mut Report<'_>,
    ) -> Result<Vec<Scan>, Error> {
        let end_ns = monotonic_ns() + (seconds * 1e9) as u64;
        let mut scans: Vec<Scan> = Vec::new();
        let mut reported_ns = 0;
        while scans.is_empty() || monotonic_ns() < end_ns {
            let scan = self.scan(phase)?;
            // Not after every scan: scanning a small column takes less time than a report.
            if scan.end_ns > reported_ns + 100_000_000 {
                reported_ns = scan.end_ns;
                report(InstanceReport::Progress {
                    phase: word,
                    value: Some(self.bytes() / scan.seconds()),
                })?;
            }
            scans.push(scan);
        }
        Ok(scans)
    }

    fn bytes(&self) -> f64 {
        (u64::from(self.instance.sga.layout.column_blocks) * VALUE_BYTES) as f64
    }

    /// Runs one scan by all workers.
    fn scan(&mut self, phase: ScanPhase) -> Result<Scan, Error> {
        let sga = self.instance.sga;
        for pool in sga.pools {
            pool.granule.0.store(0, Ordering::Relaxed);
        }
        let state = &sga.control.scan.0;
        state.done.store(0, Ordering::Relaxed);
        let start_ns = monotonic_ns();
        self.begin(phase);
        loop {
            let done = state.done.load(Ordering::Acquire);
            if done == sga.layout.sessions {
                break;
            }
            linux::futex::wait(&state.done, done, Some(LOOK_EVERY));
            self.sessions.check_alive(&sga)?;
        }
        Ok(Scan {
            start_ns,
            end_ns: monotonic_ns(),
            wrong: self.wrong(),
        })
    }

    fn begin(&self, phase: ScanPhase) {
        let state = &self.instance.sga.control.scan.0;
        state.phase.store(phase as u32, Ordering::Relaxed);
        state.number.fetch_add(1, Ordering::Release);
        linux::futex::wake(&state.number, u32::MAX >> 1);
    }

    /// Returns what is wrong with the parts that the workers found, taken together.
    fn wrong(&self) -> Option<String> {
        let sga = &self.instance.sga;
        let (mut sum, mut blocks) = (0u64, 0u64);
        for slot in sga.slots {
            sum = sum.wrapping_add(slot.found.0.sum.load(Ordering::Relaxed));
            blocks += slot.found.0.blocks.load(Ordering::Relaxed);
        }
        let expected = (self.total, u64::from(sga.layout.column_blocks));
        ((sum, blocks) != expected).then(|| {
            let (total, all) = expected;
            format!(
                "a scan found the sum {sum} in {}; it is {total} in {all}",
                counted(blocks, "block")
            )
        })
    }

    /// Makes every worker publish its measurements.
    fn publish(&mut self) -> Result<(), Error> {
        self.begin(ScanPhase::Publish);
        let sga = &self.instance.sga;
        self.sessions
            .wait_for(sga, sga.slots, SessionState::Finished, PUBLISH_WITHIN)
    }
}

/// Returns the figures of the trial.
fn measured(
    instance: &Instance<'_>,
    results: &results::Total,
    window: &[Scan],
    warm_up_s: f64,
) -> Measured {
    let (first, last) = (&window[0], &window[window.len() - 1]);
    let window_s = (last.end_ns - first.start_ns).max(1) as f64 / 1e9;
    let blocks = u64::from(instance.sga.layout.column_blocks);
    let sample = |scan: &Scan| Sample {
        at_s: (scan.end_ns - first.start_ns) as f64 / 1e9,
        logical_reads_per_s: blocks as f64 / scan.seconds(),
        ..Sample::default()
    };
    let mut durations: Vec<u64> = window
        .iter()
        .map(|scan| scan.end_ns - scan.start_ns)
        .collect();
    durations.sort_unstable();
    let quantile = |share: f64| {
        let place = (durations.len() as f64 * share).ceil() as usize;
        Some(durations[place.clamp(1, durations.len()) - 1])
    };
    let mut sessions = results.sessions(instance.order, window.iter().map(sample).collect());
    sessions.statements = window.len() as u64;
    sessions.statement_latency = LatencySummary {
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
        max_ns: durations.last().copied(),
    };
    Measured {
        value: (window.len() as u64 * blocks * VALUE_BYTES) as f64 / window_s,
        window_s: Some(window_s),
        warm_up_s: Some(warm_up_s),
        sessions: Some(sessions),
        kernel: None,
    }
}

/// Records how much each worker read from which node: what it read from each pool, in proportion to
/// the pages of that pool on each node.
fn note_reads(instance: &Instance<'_>, evidence: &mut Evidence) {
    let Some(sga) = &evidence.sga else { return };
    let pools = instance.sga.layout.pools as usize;
    let of_pools: Vec<&BTreeMap<NodeId, u64>> = match sga.pools.as_slice() {
        [] => vec![&sga.bytes_by_node_after],
        pools => pools.iter().map(|pool| &pool.bytes_by_node).collect(),
    };
    let reads = instance.sga.reads.chunks(pools);
    for (session, reads) in evidence.sessions.iter_mut().zip(reads) {
        for (reads, by_node) in reads.iter().zip(&of_pools) {
            let bytes = reads.load(Ordering::Relaxed) * BLOCK_BYTES;
            let whole: u64 = by_node.values().sum();
            for (node, part) in by_node.iter() {
                let read =
                    (u128::from(bytes) * u128::from(*part) / u128::from(whole.max(1))) as u64;
                if read > 0 {
                    *session.bytes_read_by_node.entry(*node).or_default() += read;
                }
            }
        }
    }
}
