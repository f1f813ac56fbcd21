//! Explains why cases differ: CPUs delivered, CPU time per logical read, and the rest.
//!
//! Pure and deterministic, like the judgement. docs/measurement.md has the arithmetic.

use model::{Metric, NodeMatrix, Run, Trial};
use stats::{Interval, Split, split};

use crate::cost::{CERTAIN, CaseCost, case_cost, cpu_ns_per_read, cpus};
use crate::judgement::judge;
use crate::judgement::order;
use crate::memory_share::{MemoryShare, memory_share};
use crate::ratio::{Ratio, baseline_index, is_emulated, ratio_of};

/// Why the cases of a run differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The cases, the best first.
    pub cases: Vec<CaseCost>,
    /// Each case other than the baseline against the baseline, the best first.
    pub differences: Vec<Difference>,
    /// Each case against the one above it, from the best down; empty where this equals
    /// `differences`.
    pub steps: Vec<Difference>,
}

/// One case against another.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Index into [`Explanation::cases`] of the case compared with.
    pub baseline: usize,
    /// Index into [`Explanation::cases`] of the case.
    pub case: usize,
    /// Logical reads per second, case over baseline.
    pub reads: Factor,
    /// CPUs delivered, case over baseline.
    pub cpus: Option<Factor>,
    /// CPU time per logical read, case over baseline: below 1 is better.
    pub cost: Option<Factor>,
    /// `reads` over the quotient of `cpus` and `cost`: 1 when the trials' own figures multiply
    /// exactly.
    pub rest: Option<f64>,
    /// Shares of the difference: CPUs, cost, rest. `None` where there is no difference to split, or
    /// a factor is unknown or has no interval.
    pub shares: Option<Split>,
    /// The part of memory latency; `None` where unknown.
    pub memory: Option<MemoryShare>,
}

/// The ratio of one figure between two cases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factor {
    /// The ratio.
    pub ratio: f64,
    /// Its interval from the repetitions; `None` where there are too few.
    pub interval: Option<Interval>,
    /// Rounding range from the printed digits of reports; `None` where the figures were measured.
    pub rounding: Option<Interval>,
}

/// Why a run cannot be explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotExplained {
    /// It does not measure logical reads, but this.
    #[error("it splits logical reads per second, but this run measures {0}")]
    Metric(&'static str),
    /// Its machine is emulated.
    #[error("the machine is emulated in software, so its speeds mean nothing")]
    Emulated,
    /// Nothing to compare with.
    #[error("its baseline has no valid trials")]
    NoBaseline,
}

/// Explains how the cases of a run differ from the case named `baseline`, or from the run's own
/// baseline. With `latency`, in ns, also estimates the part of memory latency.
///
/// # Errors
/// When the run does not measure logical reads, its baseline has no valid trial, or its machine is
/// emulated.
pub fn explain(
    run: &Run,
    baseline: Option<&str>,
    latency: Option<&NodeMatrix>,
) -> Result<Explanation, NotExplained> {
    if run.metric != Metric::LogicalReadsPerSecond {
        return Err(NotExplained::Metric(run.metric.name()));
    }
    if is_emulated(run) {
        return Err(NotExplained::Emulated);
    }
    let judgement = judge(run);
    let counted = |index: &usize| judgement.cases[*index].median.is_some();
    let order: Vec<usize> = order(run, &judgement).into_iter().filter(counted).collect();
    let baseline = match baseline {
        Some(name) => run.cases.iter().position(|case| case.plan.name == name),
        None => baseline_index(run),
    };
    let cases: Vec<CaseCost> = order.iter().map(|index| case_cost(run, *index)).collect();
    let baseline = baseline.and_then(|baseline| order.iter().position(|it| *it == baseline));
    let Some(baseline) = baseline else {
        return Err(NotExplained::NoBaseline);
    };
    let others = (0..cases.len()).filter(|index| *index != baseline);
    let difference = |baseline, case| {
        let found = difference(run, &cases, baseline, case);
        let is_sure = found.cost.is_some_and(|it| it.interval.is_some());
        let latency = latency.filter(|_| is_sure);
        let memory =
            latency.and_then(|latency| memory_share(run, latency, &cases[case], &cases[baseline]));
        Difference { memory, ..found }
    };
    let differences = others.map(|case| difference(baseline, case));
    let steps = (1..cases.len()).filter(|_| cases.len() > 2);
    let steps = steps.map(|case| difference(case - 1, case));
    let (differences, steps) = (differences.collect(), steps.collect());
    Ok(Explanation {
        differences,
        steps,
        cases,
    })
}

impl Difference {
    /// Returns whether the interval of the ratio includes 1, so that there may be no difference.
    pub fn is_tie(&self) -> bool {
        let interval = self.reads.interval;
        interval.is_some_and(|interval| interval.contains(1.0))
    }

    /// Returns whether there are too few trials to say which part a factor has.
    pub fn has_too_few(&self) -> bool {
        let factors = [Some(self.reads), self.cpus, self.cost];
        factors
            .into_iter()
            .flatten()
            .any(|it| it.interval.is_none())
    }
}

fn difference(run: &Run, cases: &[CaseCost], baseline: usize, case: usize) -> Difference {
    let factor = |figure: fn(&Trial) -> Option<f64>, medians: fn(&CaseCost) -> Option<f64>| {
        let of = |index: usize| &run.cases[cases[index].case_index];
        let estimate: Option<Ratio> = ratio_of(run, of(case), of(baseline), figure);
        let bare = medians(&cases[case])? / medians(&cases[baseline])?;
        let ratio = estimate.map_or(bare, |it| it.ratio);
        ratio.is_finite().then_some(Factor {
            ratio,
            interval: estimate.map(|it| it.interval),
            rounding: None,
        })
    };
    let reads = factor(Trial::valid_value, |it| it.logical_reads_per_s);
    let reads = reads.unwrap_or(Factor {
        ratio: f64::NAN,
        interval: None,
        rounding: None,
    });
    let rounding = rounding_of(&cases[case], &cases[baseline]);
    let cpus = factor(cpus, |it| it.cpus).map(|it| Factor { rounding, ..it });
    let cost = factor(cpu_ns_per_read, |it| it.cpu_ns_per_read);
    // Reads are CPUs over cost, so the bounds of cost are those of CPUs divided by reads.
    let cost_rounding = rounding.map(|it| Interval {
        low: it.low / reads.ratio,
        high: it.high / reads.ratio,
        ..it
    });
    let cost = cost.map(|it| Factor {
        rounding: cost_rounding,
        ..it
    });
    let product = cpus.zip(cost).map(|(cpus, cost)| cpus.ratio / cost.ratio);
    let is_sure = |factor: &Factor| factor.interval.is_some();
    let sure = cpus.filter(is_sure).zip(cost.filter(is_sure));
    let shares = sure.filter(|_| is_sure(&reads));
    let shares = shares.and_then(|(cpus, cost)| split(reads.ratio, cpus.ratio, 1.0 / cost.ratio));
    let difference = Difference {
        baseline,
        case,
        reads,
        cpus,
        cost,
        rest: product.map(|product| reads.ratio / product),
        shares: None,
        memory: None,
    };
    Difference {
        shares: shares.filter(|_| !difference.is_tie()),
        ..difference
    }
}

fn rounding_of(case: &CaseCost, baseline: &CaseCost) -> Option<Interval> {
    let (case, baseline) = (case.cpus_rounding?, baseline.cpus_rounding?);
    let (low, high) = (case.low / baseline.high, case.high / baseline.low);
    let confidence = CERTAIN;
    (low.is_finite() && high.is_finite()).then_some(Interval {
        low,
        high,
        confidence,
    })
}
