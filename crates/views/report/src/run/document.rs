//! A run as the document `numalab.run/1`: raw trials with their evidence, and the judgement.

use std::collections::BTreeMap;

use model::{
    Calibration, Case, Evidence, KernelFigures, LatencySummary, LoadReport, Machine, Measured,
    Metric, Placement, Run, RunStatus, Sample, SessionFigures, Skipped, Trial, UpdateFigures, Wait,
    Work,
};
use serde::Serialize;
use verdict::{CaseJudgement, Comparison, Control, Ratio, Standing, common, judge};

use crate::run::ranking::middle;
use crate::run::windows::TimeSpent;
use crate::verdict_words::sentence::verdict_sentence;
use crate::verdict_words::warnings::run_warnings;

/// Name and version of the document.
pub(crate) const RUN_FORMAT: &str = "numalab.run/1";

/// The document. The order of the fields here is their order in the document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunDocument<'r> {
    format: &'static str,
    run: &'r str,
    experiment: &'r str,
    question: &'r str,
    started_at: &'r str,
    status: RunStatus,
    machine: Option<&'r Machine>,
    seed: u64,
    window_s: Option<f64>,
    /// Where the time went, if recorded.
    time: Option<TimeSpent>,
    asks_about_memory: bool,
    /// The metric of `value`, `median`, `low` and `high`; its name includes the unit.
    metric: &'static str,
    /// Minimum confidence of all intervals.
    confidence: f64,
    /// What texts show of each case, its `shown`: `median`, or `mean` of rounds.
    shown_is: &'static str,
    baseline: &'r str,
    verdict: String,
    warnings: Vec<String>,
    cases: Vec<CaseDocument<'r>>,
    comparisons: Vec<ComparisonDocument>,
    /// Negative controls, against the cases that they repeat.
    controls: Vec<ControlDocument>,
    skipped: &'r [Skipped],
    calibration: Option<&'r Calibration>,
    definition: &'r str,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct CaseDocument<'r> {
    name: &'r str,
    about: &'r str,
    placement: Option<&'r Placement>,
    work: &'r Work,
    /// Its best possible rank; `rank_worst` is the worst.
    rank: Option<u32>,
    rank_worst: Option<u32>,
    median: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// Probability that such an interval contains the median.
    confidence: Option<f64>,
    shown: Option<f64>,
    shown_low: Option<f64>,
    shown_high: Option<f64>,
    trials_valid: usize,
    trials_invalid: usize,
    trials_failed: usize,
    trials: Vec<TrialDocument<'r>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct TrialDocument<'r> {
    round: u32,
    valid: bool,
    outcome: &'static str,
    reason: Option<&'r str>,
    value: Option<f64>,
    logical_reads_per_s: Option<f64>,
    sessions: Option<u32>,
    window_s: Option<f64>,
    warm_up_s: Option<f64>,
    work_unit: Option<u32>,
    statements: Option<u64>,
    logical_reads: Option<u64>,
    physical_reads: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updates: Option<UpdateFigures>,
    db_time_s: Option<f64>,
    db_cpu_s: Option<f64>,
    cpu_wait_s: Option<f64>,
    /// The part of `db_cpu_s` in the kernel.
    kernel_cpu_s: Option<f64>,
    waits: Option<&'r BTreeMap<String, Wait>>,
    unaccounted_s: Option<f64>,
    statement_latency: Option<LatencySummary>,
    samples: Option<&'r [Sample]>,
    kernel: Option<&'r KernelFigures>,
    report: Option<&'r LoadReport>,
    evidence: &'r Evidence,
    warnings: &'r [String],
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct ComparisonDocument {
    baseline: String,
    case: String,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// Minimum probability that such an interval contains the ratio.
    confidence: Option<f64>,
    /// Smallest detectable difference: the interval excludes any larger difference from 1, in
    /// either direction.
    difference_below: Option<f64>,
    /// The same for CPU time per logical read, of which less is better.
    cost_ratio: Option<f64>,
    cost_low: Option<f64>,
    cost_high: Option<f64>,
    verdict: &'static str,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct ControlDocument {
    case: String,
    of: String,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// Minimum probability that such an interval contains the ratio.
    confidence: Option<f64>,
    /// Smallest detectable difference: the interval excludes any larger difference from 1, in
    /// either direction.
    difference_below: Option<f64>,
    verdict: &'static str,
}

fn control_documents(run: &Run, controls: &[Control]) -> Vec<ControlDocument> {
    let name = |index: usize| run.cases[index].plan.name.clone();
    let document = |control: &Control| ControlDocument {
        case: name(control.case_index),
        of: name(control.of_index),
        ratio: control.ratio.map(|it| it.ratio),
        low: control.ratio.map(|it| it.interval.low),
        high: control.ratio.map(|it| it.interval.high),
        confidence: control.ratio.map(|it| it.interval.confidence),
        difference_below: control.ratio.map(Ratio::difference_below),
        verdict: control.verdict.word(),
    };
    controls.iter().map(document).collect()
}

/// Judges the run again and returns its document.
pub fn run_document(run: &Run) -> RunDocument<'_> {
    let judgement = judge(run);
    let cases = run.cases.iter().zip(&judgement.cases);
    let intervals = judgement.cases.iter().filter_map(|it| it.interval);
    let ratios = judgement.comparisons.iter().map(|it| it.ratio);
    let ratios = ratios.chain(judgement.controls.iter().map(|it| it.ratio));
    let ratios = ratios.filter_map(|ratio| Some(ratio?.interval));
    RunDocument {
        format: RUN_FORMAT,
        run: &run.id,
        experiment: &run.experiment,
        question: &run.question,
        started_at: &run.started_at,
        status: run.status,
        machine: run.machine.as_ref(),
        seed: run.seed,
        window_s: run.window_s,
        time: TimeSpent::of(run),
        asks_about_memory: run.asks_about_memory,
        metric: run.metric.name(),
        confidence: common(intervals.chain(ratios)),
        shown_is: middle(judgement.is_of_rounds),
        baseline: &run.baseline,
        cases: cases
            .map(|(case, judged)| case_document(run.metric, case, judged))
            .collect(),
        comparisons: judgement.comparisons.iter().map(comparison).collect(),
        controls: control_documents(run, &judgement.controls),
        verdict: verdict_sentence(run, &judgement),
        warnings: run_warnings(run, &judgement),
        skipped: &run.skipped,
        calibration: run.calibration.as_ref(),
        definition: &run.definition,
    }
}

fn case_document<'r>(metric: Metric, case: &'r Case, judged: &CaseJudgement) -> CaseDocument<'r> {
    CaseDocument {
        name: &case.plan.name,
        about: &case.plan.about,
        placement: placement(case),
        work: &case.plan.work,
        rank: judged.rank.map(|rank| rank.best),
        rank_worst: judged.rank.map(|rank| rank.worst),
        median: judged.median,
        low: judged.interval.map(|interval| interval.low),
        high: judged.interval.map(|interval| interval.high),
        confidence: judged.interval.map(|interval| interval.confidence),
        shown: judged.shown,
        shown_low: judged.shown_interval.map(|interval| interval.low),
        shown_high: judged.shown_interval.map(|interval| interval.high),
        trials_valid: judged.valid,
        trials_invalid: judged.invalid,
        trials_failed: judged.failed,
        trials: case
            .trials
            .iter()
            .map(|trial| trial_document(metric, trial))
            .collect(),
    }
}

/// Returns the placement of a case; `None` for an imported case.
fn placement(case: &Case) -> Option<&Placement> {
    let imported = matches!(case.plan.work, Work::Imported(_));
    (!imported).then_some(&case.plan.placement)
}

fn trial_document(metric: Metric, trial: &Trial) -> TrialDocument<'_> {
    let standing = Standing::of(trial);
    let measured: Option<&Measured> = trial.measured.as_ref();
    let report = trial.report.as_deref();
    let reported = report.map(|it| it.profile.logical_reads_per_s.value);
    let value = measured.map(|it| it.value).or(reported);
    let sessions: Option<&SessionFigures> = measured.and_then(|it| it.sessions.as_ref());
    let time = sessions.map(|it| &it.time);
    TrialDocument {
        round: trial.round,
        valid: standing.is_valid(),
        outcome: standing.word(),
        reason: standing.reason(),
        value,
        logical_reads_per_s: value.filter(|_| metric == Metric::LogicalReadsPerSecond),
        sessions: sessions.map(|it| it.sessions),
        window_s: measured.and_then(|it| it.window_s),
        warm_up_s: measured.and_then(|it| it.warm_up_s),
        work_unit: sessions.map(|it| it.work_unit),
        statements: sessions.map(|it| it.statements),
        logical_reads: sessions.map(|it| it.logical_reads),
        physical_reads: sessions.map(|it| it.physical_reads),
        updates: sessions.and_then(|it| it.updates),
        db_time_s: time.map(|it| it.db_time_s),
        db_cpu_s: time.map(|it| it.db_cpu_s),
        cpu_wait_s: time.map(|it| it.cpu_wait_s),
        kernel_cpu_s: time.and_then(|it| it.kernel_cpu_s),
        waits: time.map(|it| &it.waits),
        unaccounted_s: time.map(|it| it.unaccounted_s()),
        statement_latency: sessions.map(|it| it.statement_latency),
        samples: sessions.map(|it| it.samples.as_slice()),
        kernel: measured.and_then(|it| it.kernel.as_ref()),
        report: trial.report.as_deref(),
        evidence: &trial.evidence,
        warnings: &trial.warnings,
    }
}

fn comparison(comparison: &Comparison) -> ComparisonDocument {
    let ratio = comparison.ratio;
    ComparisonDocument {
        baseline: comparison.baseline.clone(),
        case: comparison.case.clone(),
        ratio: ratio.map(|it| it.ratio).or(comparison.bare_ratio),
        low: ratio.map(|it| it.interval.low),
        high: ratio.map(|it| it.interval.high),
        confidence: ratio.map(|it| it.interval.confidence),
        difference_below: ratio.map(Ratio::difference_below),
        cost_ratio: comparison.cost.map(|it| it.ratio),
        cost_low: comparison.cost.map(|it| it.interval.low),
        cost_high: comparison.cost.map(|it| it.interval.high),
        verdict: comparison.verdict.word(),
    }
}
