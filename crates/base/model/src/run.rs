//! A run as it is stored: the request, the machine, and every trial with its raw samples.
//!
//! Summaries (medians, intervals, ranks, verdicts) are not here: they are computed from these.

use serde::{Deserialize, Serialize};

use crate::{
    CasePlan, CpuId, Evidence, ImportedWork, LoadReport, Machine, Metric, TimeModel, TimerFacts,
    Topology, Work,
};

/// One execution of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Id, unique within a store and short enough to type.
    pub id: String,
    /// Name of the experiment.
    pub experiment: String,
    /// The question the experiment answers.
    pub question: String,
    /// The experiment's definition, verbatim TOML.
    pub definition: String,
    /// Start, RFC 3339 with offset.
    pub started_at: String,
    /// How it ended, so far.
    pub status: RunStatus,
    /// The machine it ran on; `None` for an imported run, whose machine numalab never saw.
    pub machine: Option<Machine>,
    /// Seed of the order of trials and of the resampling.
    pub seed: u64,
    /// The metric by which the cases are compared.
    pub metric: Metric,
    /// Name of the case with which others are compared.
    pub baseline: String,
    /// Whether the cases differ in where memory lies, so that an emulated machine cannot answer it.
    pub asks_about_memory: bool,
    /// Length of each measured window; `None` for an imported run.
    pub window_s: Option<f64>,
    /// How the work unit was found; `None` until it is.
    pub calibration: Option<Calibration>,
    /// The cases with their trials.
    pub cases: Vec<Case>,
    /// Cases this machine cannot run, with the reason.
    pub skipped: Vec<Skipped>,
}

/// A summary of a run for lists, available without reading its documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Id.
    pub id: String,
    /// Name of the experiment; of a run of live windows the command and its target.
    pub experiment: String,
    /// The name the user gave it; omitted from the document where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Start, RFC 3339 with offset.
    pub started_at: String,
    /// How it ended, so far.
    pub status: RunStatus,
    /// `uname -n` of the machine; for an imported run the host named by its reports, if they agree.
    pub host: Option<String>,
    /// Whether that machine is emulated in software.
    pub emulated: Option<bool>,
    /// Cases that were run; of live windows, placements.
    pub cases: u32,
    /// Cases that the machine could not run.
    pub skipped: u32,
    /// Trials that count, or live windows.
    pub trials_valid: u32,
    /// Trials that ran to their end but do not count, or such live windows.
    pub trials_invalid: u32,
    /// Trials that did not run to their end.
    pub trials_failed: u32,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// Trials are still being added, or the process was killed.
    Unfinished,
    /// The stop rule was met: every interval is narrow enough.
    Settled,
    /// A limit on trials or time was reached first.
    Bounded,
    /// Interrupted by the user; finished trials are kept.
    Interrupted,
    /// The workload could not continue.
    Failed,
    /// Nothing was run: the figures were read from reports of another program.
    Imported,
}

impl RunStatus {
    /// Every status.
    pub const ALL: [RunStatus; 6] = [
        RunStatus::Unfinished,
        RunStatus::Settled,
        RunStatus::Bounded,
        RunStatus::Interrupted,
        RunStatus::Failed,
        RunStatus::Imported,
    ];

    /// Its name in documents, stores and tables.
    pub fn name(self) -> &'static str {
        match self {
            RunStatus::Unfinished => "unfinished",
            RunStatus::Settled => "settled",
            RunStatus::Bounded => "bounded",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Failed => "failed",
            RunStatus::Imported => "imported",
        }
    }

    /// The status of this name.
    pub fn of_name(name: &str) -> Option<RunStatus> {
        RunStatus::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// How the work unit was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Rows per statement used for every trial.
    pub work_unit: u32,
    /// Whether doubling the work unit no longer increased the rate.
    pub plateau_reached: bool,
    /// The sweep.
    pub points: Vec<CalibrationPoint>,
}

/// One point of the sweep of work units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CalibrationPoint {
    /// Rows per statement.
    pub work_unit: u32,
    /// Logical reads per second of the probing session.
    pub logical_reads_per_s: f64,
}

/// One case of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The requested work and placement.
    pub plan: CasePlan,
    /// Its trials, in order of execution.
    pub trials: Vec<Trial>,
}

/// One execution of a case: fresh processes, fresh memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Round of the run that this trial belongs to, from 0; every round contains each case once.
    pub round: u32,
    /// Whether it counts, and if not, why.
    pub outcome: Outcome,
    /// What was measured; `None` when the trial failed before its window ended, and for an imported
    /// trial.
    pub measured: Option<Measured>,
    /// The report it was imported from; `None` when numalab measured it.
    pub report: Option<Box<LoadReport>>,
    /// The placement as the kernel reports it.
    pub evidence: Evidence,
    /// Anything a reader should know about a trial that counts.
    pub warnings: Vec<String>,
}

impl Run {
    /// The topology of the machine it was made on.
    pub fn topology(&self) -> Option<&Topology> {
        self.machine.as_ref().map(|machine| &machine.topology)
    }

    /// The unit shown to people: that of the metric, or the one given for a program's number.
    pub fn shown_unit(&self) -> &str {
        match self.cases.first().map(|case| &case.plan.work) {
            Some(Work::Command(work)) => &work.unit,
            Some(Work::Imported(ImportedWork {
                unit: Some(unit), ..
            })) => unit,
            _ => self.metric.facts().shown_unit,
        }
    }

    /// The host it ran on, or the one that all of its reports name.
    pub fn host(&self) -> Option<&str> {
        if let Some(machine) = &self.machine {
            return Some(&machine.host);
        }
        let trials = self.cases.iter().flat_map(|case| &case.trials);
        let mut hosts = trials.map(|trial| trial.report.as_ref()?.host.name.as_deref());
        let first = hosts.next()??;
        hosts.all(|host| host == Some(first)).then_some(first)
    }
}

impl Trial {
    /// A trial that did not run to its end, with the reason.
    pub fn failed(round: u32, reason: String) -> Self {
        Trial {
            round,
            outcome: Outcome::Failed(reason),
            measured: None,
            report: None,
            evidence: Evidence::default(),
            warnings: Vec::new(),
        }
    }

    /// Whether its windows alternated with those of the other cases of its round.
    pub fn has_alternated(&self) -> bool {
        self.evidence.parked.is_some()
    }

    /// What the trial measured, in the run's metric, if it counts.
    pub fn valid_value(&self) -> Option<f64> {
        match (&self.outcome, &self.measured, &self.report) {
            (Outcome::Valid, Some(measured), _) => Some(measured.value),
            (Outcome::Valid, None, Some(report)) => Some(report.profile.logical_reads_per_s.value),
            _ => None,
        }
    }
}

/// Whether a trial counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "reason")]
pub enum Outcome {
    /// It counts.
    Valid,
    /// It ran, but evidence contradicts the request: never counted.
    Invalid(String),
    /// It did not run to its end.
    Failed(String),
}

/// What one trial measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The figure of the trial, in the unit of the run's metric.
    pub value: f64,
    /// Length of the window, or of all its windows together; `None` for a figure that was imported.
    pub window_s: Option<f64>,
    /// Length of the preceding warm-up, if timed.
    pub warm_up_s: Option<f64>,
    /// Figures of database sessions only.
    pub sessions: Option<SessionFigures>,
    /// Figures of a measuring kernel only.
    pub kernel: Option<KernelFigures>,
}

/// What the sessions of one trial did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionFigures {
    /// Sessions that ran.
    pub sessions: u32,
    /// Rows per statement.
    pub work_unit: u32,
    /// Statements executed by all sessions.
    pub statements: u64,
    /// Logical reads by all sessions.
    pub logical_reads: u64,
    /// Blocks read from the data file by all sessions.
    #[serde(default)]
    pub physical_reads: u64,
    /// The results of row updates, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updates: Option<UpdateFigures>,
    /// Where the time went.
    pub time: TimeModel,
    /// Live samples inside the window.
    pub samples: Vec<Sample>,
    /// Statement latency over all sessions.
    pub statement_latency: LatencySummary,
}

/// The results of row updates in one trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct UpdateFigures {
    /// Rows updated in the window by all sessions.
    pub rows_updated: u64,
    /// Blocks that the database writers wrote to the data file in the window.
    pub blocks_written: u64,
    /// CPU time of the database writers in the window, which is not part of DB CPU.
    pub writers_cpu_s: f64,
    /// Time of the checkpoint after the window.
    pub checkpoint_s: f64,
    /// Updates recorded in the rows of the data file after the checkpoint; the trial fails unless
    /// they equal the updates made by the sessions since the load.
    pub updates_in_file: u64,
}

/// The raw results of a measuring kernel in one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelFigures {
    /// The figure of each window, in the unit of the run's metric and in the order they were timed.
    pub windows: Vec<f64>,
    /// For each window, the time in which all threads ran as a share of the time in which any did;
    /// empty for a single thread.
    pub overlaps: Vec<f64>,
    /// Memory visited or moved, by all threads.
    pub working_set_bytes: u64,
    /// Pages that a chase visits at random before it moves on to other pages; `None`: all.
    pub tlb_group_pages: Option<u32>,
    /// For a curve, the windows of each working set; `windows` has those of the largest.
    pub curve: Vec<CurveFigures>,
    /// For transfers, the windows of each pair; `windows` has the median of each pair.
    pub transfers: Vec<TransferFigures>,
    /// Under load, bytes per second moved by the load during the windows.
    pub load_bytes_per_s: Option<f64>,
    /// A checksum of the computation, so that the compiler cannot remove it.
    pub checksum: u64,
    /// The clock.
    pub timer: TimerFacts,
}

/// One working set of a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurveFigures {
    /// The working set.
    pub bytes: u64,
    /// Latency of one access in each window, in ns.
    pub windows: Vec<f64>,
}

/// One pair of CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransferFigures {
    /// The CPU that wrote the line and took the time.
    pub from: CpuId,
    /// The CPU that answered.
    pub to: CpuId,
    /// One-way time in each window, in ns: half of a round trip.
    pub windows: Vec<f64>,
}

/// One sample inside a window; or, in a trial of many windows that alternate with those of other
/// cases, one window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds from the start of the window to the end of the sample; or from the start of the
    /// first window to the start of this one.
    pub at_s: f64,
    /// Logical reads, or other work of the sessions, per second: since the previous sample, or in
    /// this window.
    pub logical_reads_per_s: f64,
    /// Whether this window, together with those of other cases around it, is excluded from the
    /// figures of the trials.
    #[serde(default, skip_serializing_if = "is_false")]
    pub left_out: bool,
    /// Seconds that the hypervisor gave to other guests in this window, over all CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_s: Option<f64>,
    /// CPU time that other programs used in this window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_cpu_s: Option<f64>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Quantiles of statement latency; `None` when no statement ended in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Median.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Largest.
    pub max_ns: Option<u64>,
}

/// A case that was not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Name of the case.
    pub case: String,
    /// Why this machine cannot run it, and what could be done.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::RunStatus;

    #[test]
    fn a_status_has_one_name() {
        for status in RunStatus::ALL {
            assert_eq!(RunStatus::of_name(status.name()), Some(status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.name());
        }
        assert_eq!(RunStatus::of_name("done"), None);
    }
}
