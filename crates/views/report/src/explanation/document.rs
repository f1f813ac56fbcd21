//! An explanation as the document `numalab.explain/1`.

use model::Run;
use serde::Serialize;
use stats::Interval;
use verdict::{CaseCost, Difference, Explanation, Factor, common};

use crate::explanation::text::sentence;

/// Name and version of the document.
pub(crate) const EXPLAIN_FORMAT: &str = "numalab.explain/1";

/// The document. The order of the fields here is their order in the document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplainDocument<'r> {
    format: &'static str,
    run: &'r str,
    experiment: &'r str,
    metric: &'static str,
    confidence: f64,
    cases: Vec<CaseDocument>,
    differences: Vec<DifferenceDocument>,
    steps: Vec<DifferenceDocument>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct CaseDocument {
    place: usize,
    name: String,
    trials: usize,
    logical_reads_per_s: Option<f64>,
    cpus_delivered: Option<f64>,
    cpu_ns_per_logical_read: Option<f64>,
    off_cpu_s_per_s: Vec<CauseDocument>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct CauseDocument {
    cause: String,
    s_per_s: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct DifferenceDocument {
    baseline: String,
    case: String,
    /// How many fewer reads the case does, in percent; negative when it does more.
    lost_percent: f64,
    told_apart: Option<bool>,
    logical_reads: FactorDocument,
    cpus_delivered: Option<FactorDocument>,
    cpu_time_per_logical_read: Option<FactorDocument>,
    rest_ratio: Option<f64>,
    shares: Option<SharesDocument>,
    larger_part: Option<&'static str>,
    memory: Option<MemoryDocument>,
    sentence: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct FactorDocument {
    case: Option<f64>,
    baseline: Option<f64>,
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
    /// Rounding range from the printed digits of reports; null where the figures were measured.
    digits_low: Option<f64>,
    digits_high: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct SharesDocument {
    cpus_delivered: f64,
    cpu_time_per_logical_read: f64,
    rest: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct MemoryDocument {
    latency_ns: f64,
    baseline_latency_ns: f64,
    accesses_per_logical_read: Option<f64>,
    share_of_cost: Option<f64>,
    baseline_share_of_cost: Option<f64>,
}

/// Returns the document of an explanation.
pub fn explain_document<'r>(run: &'r Run, found: &Explanation) -> ExplainDocument<'r> {
    let all = |differences: &[Difference]| {
        let each = differences.iter();
        each.map(|it| difference_document(found, it)).collect()
    };
    let differences = found.differences.iter().chain(&found.steps);
    let factors = differences.flat_map(|it| [Some(it.reads), it.cpus, it.cost]);
    let intervals = factors.filter_map(|factor| factor?.interval);
    ExplainDocument {
        format: EXPLAIN_FORMAT,
        run: &run.id,
        experiment: &run.experiment,
        metric: run.metric.name(),
        confidence: common(intervals),
        cases: (1..).zip(&found.cases).map(case_document).collect(),
        differences: all(&found.differences),
        steps: all(&found.steps),
    }
}

fn case_document((place, case): (usize, &CaseCost)) -> CaseDocument {
    let causes = case.not_on_cpu.iter();
    let causes = causes.map(|(cause, rate)| CauseDocument {
        cause: cause.clone(),
        s_per_s: *rate,
    });
    CaseDocument {
        place,
        name: case.name.clone(),
        trials: case.trials,
        logical_reads_per_s: case.logical_reads_per_s,
        cpus_delivered: case.cpus,
        cpu_ns_per_logical_read: case.cpu_ns_per_read,
        off_cpu_s_per_s: causes.collect(),
    }
}

fn difference_document(found: &Explanation, difference: &Difference) -> DifferenceDocument {
    let (case, baseline) = (
        &found.cases[difference.case],
        &found.cases[difference.baseline],
    );
    let factor = |factor: Factor, figure: fn(&CaseCost) -> Option<f64>| {
        let end = |interval: Option<Interval>| interval.map(|it| (it.low, it.high)).unzip();
        let (low, high) = end(factor.interval);
        let (digits_low, digits_high) = end(factor.rounding);
        FactorDocument {
            case: figure(case),
            baseline: figure(baseline),
            ratio: factor.ratio,
            low,
            high,
            digits_low,
            digits_high,
        }
    };
    DifferenceDocument {
        baseline: baseline.name.clone(),
        case: case.name.clone(),
        lost_percent: 100.0 * (1.0 - difference.reads.ratio),
        told_apart: difference.reads.interval.map(|_| !difference.is_tie()),
        logical_reads: factor(difference.reads, |it| it.logical_reads_per_s),
        cpus_delivered: difference.cpus.map(|it| factor(it, |it| it.cpus)),
        cpu_time_per_logical_read: difference
            .cost
            .map(|it| factor(it, |it| it.cpu_ns_per_read)),
        rest_ratio: difference.rest,
        shares: difference.shares.map(|it| SharesDocument {
            cpus_delivered: it.first,
            cpu_time_per_logical_read: it.second,
            rest: it.rest,
        }),
        larger_part: difference.shares.map(|it| match it.first >= it.second {
            true => "cpus_delivered",
            false => "cpu_time_per_logical_read",
        }),
        memory: difference.memory.map(|it| MemoryDocument {
            latency_ns: it.latency_ns,
            baseline_latency_ns: it.baseline_latency_ns,
            accesses_per_logical_read: it.accesses_per_read,
            share_of_cost: it.share,
            baseline_share_of_cost: it.baseline_share,
        }),
        sentence: sentence(found, difference),
    }
}
