//! Judged figures of the newest runs, as plain values: who makes metrics does not know runs.

use super::exposition::Exposition;
use super::run_table::RUN_METRICS;
use super::table;

/// Maximum number of cases with metrics of their own, over all runs: each has up to six series.
const CASES_MAX: usize = 100;

/// The newest run of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFigures {
    /// Name of the experiment.
    pub experiment: String,
    /// The metric by which its cases are compared.
    pub metric: model::Metric,
    /// The unit of a number that the work itself reports.
    pub unit: String,
    /// Its start, in seconds since 1970-01-01 UTC.
    pub started_at_s: Option<f64>,
    /// Its cases.
    pub cases: Vec<CaseFigures>,
}

/// The judged figures of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseFigures {
    /// Its name.
    pub name: String,
    /// Trials that count.
    pub valid: usize,
    /// Trials that do not count.
    pub invalid: usize,
    /// Trials that did not finish.
    pub failed: usize,
    /// Median over the valid trials.
    pub median: Option<f64>,
    /// Lower and upper end of its interval.
    pub interval: Option<(f64, f64)>,
}

/// Adds the figures of runs; of two runs of one experiment, the first counts.
#[expect(clippy::cast_precision_loss, reason = "numbers of trials are small")]
pub(super) fn add_runs(exposition: &mut Exposition, runs: &[RunFigures]) {
    let mut left = CASES_MAX;
    let mut left_out = 0;
    for run in runs {
        let experiment = run.experiment.as_str();
        exposition.add(&table::RUN_TIME, &[experiment], run.started_at_s);
        left_out += run.cases.len().saturating_sub(left);
        for case in run.cases.iter().take(left) {
            let outcomes = [
                ("valid", case.valid),
                ("invalid", case.invalid),
                ("failed", case.failed),
            ];
            for (outcome, trials) in outcomes {
                let labels = [experiment, &case.name, outcome];
                exposition.add(&table::RUN_VALID, &labels, Some(trials as f64));
            }
            add_measured(exposition, run, case);
        }
        left = left.saturating_sub(run.cases.len());
    }
    exposition.add(&table::RUNS_LEFT_OUT, &[], Some(left_out as f64));
}

/// Adds what the trials of a case measured.
fn add_measured(exposition: &mut Exposition, run: &RunFigures, case: &CaseFigures) {
    let labels = [run.experiment.as_str(), &case.name, &run.unit];
    let (low, high) = case.interval.unzip();
    for row in RUN_METRICS.iter().filter(|row| row.of == run.metric) {
        for (metric, value) in row.metrics.iter().zip([case.median, low, high]) {
            let labels = &labels[..metric.labels.len()];
            exposition.add(metric, labels, value.map(|it| it * row.unit));
        }
    }
}
