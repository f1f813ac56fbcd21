//! Compares two stored runs, or two cases of any runs: which does more, by how much, at what
//! confidence.

use model::{Case, Metric, Run, RunStatus, Trial};
use stats::Interval;

use crate::cases::{are_of_rounds, mean_of_rounds};
use crate::confidence::CONFIDENCE;
use crate::ratio::{
    Ratio, bare_ratio, has_emulated_cost, independent_ratio, is_emulated, merit, ratio_of, verdict,
};
use crate::verdict::Verdict;

/// One side of a comparison: a run, or one case of it.
#[derive(Debug, Clone, Copy)]
pub struct Selection<'r> {
    /// The run.
    pub run: &'r Run,
    /// The case; `None` selects all cases.
    pub case: Option<&'r str>,
}

/// The comparison of two selections.
#[derive(Debug, Clone, PartialEq)]
pub struct RunComparison {
    /// The metric by which they are compared.
    pub metric: Metric,
    /// Whether figures are means of rounds: two cases of one run whose windows alternated. Figures
    /// of two runs are medians, as their ratios are of medians.
    pub is_of_rounds: bool,
    /// The pairs of cases.
    pub pairs: Vec<ComparedPair>,
    /// Cases that only the first has.
    pub only_first: Vec<String>,
    /// Cases that only the second has.
    pub only_second: Vec<String>,
    /// What affects how far the figures can be trusted.
    pub caveats: Vec<Caveat>,
}

/// What affects how far a comparison of two runs can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caveat {
    /// They are of different machines, each with its name if it has one.
    DifferentMachines(Option<String>, Option<String>),
    /// What a read costs is read from a table.
    EmulatedCost,
    /// They are two runs: whatever changed between them is in the ratio.
    NotSideBySide,
    /// They are of different experiments.
    DifferentExperiments(String, String),
    /// One is imported: a case with too few trials has no interval.
    Imported,
}

/// Why two selections cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    /// They measure different things.
    #[error(
        "run {} measures {}, but run {} measures {}",
        first.0, first.1, second.0, second.1
    )]
    Metrics {
        /// The id of the first run, and its metric.
        first: (String, &'static str),
        /// The same of the second.
        second: (String, &'static str),
    },
    /// A run has no such case.
    #[error("run {run} has no case {case}; it has {has}")]
    NoCase {
        /// The id of the run.
        run: String,
        /// The case.
        case: String,
        /// The cases that it has.
        has: String,
    },
    /// No case of one has the name of one of the other.
    #[error(
        "no case of run {} ({}) has the same name as one of run {} ({}); select one of each with \
         RUN:CASE",
        first.0, first.1, second.0, second.1
    )]
    NoPair {
        /// The id of the first run, and its cases.
        first: (String, String),
        /// The same of the second.
        second: (String, String),
    },
}

/// Two cases and their ratio.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedPair {
    /// The case compared with.
    pub first: ComparedCase,
    /// The case.
    pub second: ComparedCase,
    /// Second over first, with its interval.
    pub ratio: Option<Ratio>,
    /// Second over first of imported figures that have no interval.
    pub bare_ratio: Option<f64>,
    /// The verdict on the second.
    pub verdict: Verdict,
}

/// One case of a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedCase {
    /// Id of its run.
    pub run: String,
    /// Its name.
    pub case: String,
    /// Trials that count.
    pub trials: usize,
    /// The median.
    pub median: Option<f64>,
    /// What texts show of it: the median, or the mean of its rounds
    /// ([`RunComparison::is_of_rounds`]).
    pub shown: Option<f64>,
    /// Interval of what is shown.
    pub shown_interval: Option<Interval>,
}

impl ComparedPair {
    /// Returns whether the second performs below `limit` times the first: with confidence where
    /// there is an interval, otherwise by the bare figures.
    pub fn is_below(&self, metric: Metric, limit: f64) -> bool {
        match (self.ratio, self.bare_ratio) {
            (Some(ratio), _) => {
                let Interval { low, high, .. } = ratio.interval;
                as_merit(metric, low).max(as_merit(metric, high)) < limit
            }
            (None, Some(bare)) => as_merit(metric, bare) < limit,
            (None, None) => false,
        }
    }
}

/// Converts the ratio of two values to a ratio for which higher is better.
fn as_merit(metric: Metric, ratio: f64) -> f64 {
    match merit(metric, 1.0) > 0.0 {
        true => ratio,
        false => 1.0 / ratio,
    }
}

/// Compares the second with the first. Single cases are compared whatever their names; the cases of
/// two runs are matched by name.
///
/// # Errors
/// When the metrics differ, a case does not exist, or no names match.
pub fn compare_runs(
    first: Selection<'_>,
    second: Selection<'_>,
) -> Result<RunComparison, NotComparable> {
    let (metric, other) = (first.run.metric, second.run.metric);
    if metric != other {
        return Err(NotComparable::Metrics {
            first: (first.run.id.clone(), metric.name()),
            second: (second.run.id.clone(), other.name()),
        });
    }
    let (ours, theirs) = (cases(first)?, cases(second)?);
    let pairs: Vec<(&Case, &Case)> = match (ours.as_slice(), theirs.as_slice()) {
        ([one], [other]) => vec![(*one, *other)],
        _ => by_name(&ours, &theirs),
    };
    if pairs.is_empty() {
        return Err(NotComparable::NoPair {
            first: (first.run.id.clone(), names(&ours)),
            second: (second.run.id.clone(), names(&theirs)),
        });
    }
    let paired = |case: &&Case, of: &[(&Case, &Case)]| {
        of.iter()
            .any(|(a, b)| std::ptr::eq(*a, *case) || std::ptr::eq(*b, *case))
    };
    let left = |cases: &[&Case]| {
        let left = cases.iter().filter(|case| !paired(case, &pairs));
        left.map(|case| case.plan.name.clone()).collect()
    };
    let is_of_rounds = first.run.id == second.run.id && are_of_rounds(first.run);
    Ok(RunComparison {
        metric,
        is_of_rounds,
        only_first: left(&ours),
        only_second: left(&theirs),
        caveats: caveats(first.run, second.run),
        pairs: pairs
            .iter()
            .map(|(a, b)| pair(first.run, a, second.run, b, is_of_rounds))
            .collect(),
    })
}

fn cases(selection: Selection<'_>) -> Result<Vec<&Case>, NotComparable> {
    let Selection { run, case } = selection;
    let all: Vec<&Case> = run.cases.iter().collect();
    let Some(name) = case else {
        return Ok(all);
    };
    let found: Vec<&Case> = all
        .iter()
        .copied()
        .filter(|it| it.plan.name == name)
        .collect();
    match found.is_empty() {
        true => Err(NotComparable::NoCase {
            run: run.id.clone(),
            case: name.to_owned(),
            has: names(&all),
        }),
        false => Ok(found),
    }
}

fn names(cases: &[&Case]) -> String {
    let names: Vec<&str> = cases.iter().map(|case| case.plan.name.as_str()).collect();
    match names.is_empty() {
        true => "none".to_string(),
        false => names.join(", "),
    }
}

fn by_name<'r>(ours: &[&'r Case], theirs: &[&'r Case]) -> Vec<(&'r Case, &'r Case)> {
    let same = |one: &&'r Case| {
        let other = theirs.iter().find(|it| it.plan.name == one.plan.name)?;
        Some((*one, *other))
    };
    ours.iter().filter_map(same).collect()
}

fn pair(
    first_run: &Run,
    first: &Case,
    second_run: &Run,
    second: &Case,
    is_of_rounds: bool,
) -> ComparedPair {
    let emulated = is_emulated(first_run) || is_emulated(second_run);
    let value = |trial: &Trial| trial.valid_value();
    let ratio = match first_run.id == second_run.id {
        _ if emulated => None,
        true => ratio_of(first_run, second, first, value),
        false => independent_ratio(second, first),
    };
    let in_pairs = bare_ratio(first_run, second, first).filter(|_| first_run.id == second_run.id);
    let first = compared(first_run, first, is_of_rounds);
    let second = compared(second_run, second, is_of_rounds);
    let imported = [first_run, second_run]
        .iter()
        .any(|it| it.status == RunStatus::Imported);
    let bare = second
        .median
        .zip(first.median)
        .map(|(second, first)| second / first);
    let bare = in_pairs.or(bare);
    let bare = bare.filter(|bare| imported && !emulated && ratio.is_none() && bare.is_finite());
    ComparedPair {
        first,
        second,
        ratio,
        bare_ratio: bare,
        verdict: match ratio {
            _ if emulated => Verdict::Emulated,
            Some(ratio) => verdict(first_run.metric, ratio),
            None => Verdict::Undecided,
        },
    }
}

fn compared(run: &Run, case: &Case, is_of_rounds: bool) -> ComparedCase {
    let values: Vec<f64> = case.trials.iter().filter_map(Trial::valid_value).collect();
    let median = stats::median(&values).filter(|median| median.is_finite());
    let (shown, shown_interval) = match is_of_rounds {
        true => mean_of_rounds(&values),
        false => (median, stats::median_interval(&values, CONFIDENCE)),
    };
    ComparedCase {
        run: run.id.clone(),
        case: case.plan.name.clone(),
        trials: values.len(),
        median,
        shown,
        shown_interval,
    }
}

fn caveats(first: &Run, second: &Run) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if first.host() != second.host() {
        let host = |run: &Run| run.host().map(str::to_owned);
        caveats.push(Caveat::DifferentMachines(host(first), host(second)));
    }
    if has_emulated_cost(first) || has_emulated_cost(second) {
        caveats.push(Caveat::EmulatedCost);
    }
    if first.id != second.id {
        caveats.push(Caveat::NotSideBySide);
    }
    if first.experiment != second.experiment {
        let [first, second] = [first, second].map(|run| run.experiment.clone());
        caveats.push(Caveat::DifferentExperiments(first, second));
    }
    if [first, second]
        .iter()
        .any(|it| it.status == RunStatus::Imported)
    {
        caveats.push(Caveat::Imported);
    }
    caveats
}
