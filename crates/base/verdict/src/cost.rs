//! The CPU each case of a run received and the cost of its reads: the figures that an explanation
//! compares.

use model::{Case, LoadReport, Printed, Run, Trial};
use stats::Interval;

use crate::totals::CaseTotals;

/// A rounding range contains the exact figure with certainty.
pub const CERTAIN: f64 = 1.0;

/// Causes below this many seconds per second are omitted as insignificant.
const OFF_CPU_LEAST: f64 = 0.005;

/// The CPU that one case received and the cost of its reads.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseCost {
    /// Name of the case.
    pub name: String,
    /// Index of the case in the run.
    pub case_index: usize,
    /// Trials behind the figures.
    pub trials: usize,
    /// Logical reads per second: the median.
    pub logical_reads_per_s: Option<f64>,
    /// CPUs delivered to the sessions: the median of DB CPU per second.
    pub cpus: Option<f64>,
    /// Rounding range of `cpus` from the printed digits of a report; `None` where it was measured.
    pub cpus_rounding: Option<Interval>,
    /// CPU time per logical read: the median.
    pub cpu_ns_per_read: Option<f64>,
    /// DB time that was not on a CPU, by cause, in seconds per second, the largest first.
    pub not_on_cpu: Vec<(String, f64)>,
}

/// Returns the CPUs delivered in a trial.
pub(crate) fn cpus(trial: &Trial) -> Option<f64> {
    trial.valid_value()?;
    match (&trial.measured, &trial.report) {
        (Some(measured), _) => {
            let sessions = measured.sessions.as_ref()?;
            let cpus = sessions.time.db_cpu_s / measured.window_s?;
            cpus.is_finite().then_some(cpus)
        }
        (None, Some(report)) => Some(report.cpus_delivered()?.value),
        (None, None) => None,
    }
}

/// Returns the CPU time per logical read in a trial: DB CPU over logical reads.
pub(crate) fn cpu_ns_per_read(trial: &Trial) -> Option<f64> {
    let cost = match &trial.measured {
        Some(measured) => {
            let sessions = measured.sessions.as_ref()?;
            1e9 * sessions.time.db_cpu_s / sessions.logical_reads as f64
        }
        None => 1e9 * cpus(trial)? / trial.valid_value()?,
    };
    let counts = trial.valid_value().is_some() && cost.is_finite();
    counts.then_some(cost)
}

/// Returns the CPU that one case of a run received and the cost of its reads.
pub(crate) fn case_cost(run: &Run, index: usize) -> CaseCost {
    let case = &run.cases[index];
    let figures = |figure: fn(&Trial) -> Option<f64>| -> Vec<f64> {
        case.trials.iter().filter_map(figure).collect()
    };
    CaseCost {
        name: case.plan.name.clone(),
        case_index: index,
        trials: figures(Trial::valid_value).len(),
        logical_reads_per_s: stats::median(&figures(Trial::valid_value)),
        cpus: stats::median(&figures(cpus)),
        cpus_rounding: cpus_rounding(case),
        cpu_ns_per_read: stats::median(&figures(cpu_ns_per_read)),
        not_on_cpu: not_on_cpu(case),
    }
}

fn reports(case: &Case) -> Vec<&LoadReport> {
    let reports = case.trials.iter();
    reports
        .filter_map(|trial| trial.report.as_deref())
        .collect()
}

/// Returns the medians of the lowest and of the highest figures consistent with the reports'
/// digits.
fn cpus_rounding(case: &Case) -> Option<Interval> {
    let cpus: Vec<Printed> = reports(case)
        .iter()
        .map(|report| report.cpus_delivered())
        .collect::<Option<_>>()?;
    let low: Vec<f64> = cpus.iter().map(|it| it.value - it.half_unit).collect();
    let high: Vec<f64> = cpus.iter().map(|it| it.value + it.half_unit).collect();
    Some(Interval {
        low: stats::median(&low)?,
        high: stats::median(&high)?,
        confidence: CERTAIN,
    })
}

/// Returns the DB time that was not on a CPU, by cause, per second of all windows.
fn not_on_cpu(case: &Case) -> Vec<(String, f64)> {
    let totals = CaseTotals::of(case);
    let mut causes: Vec<(String, f64)> = Vec::new();
    if totals.trials > 0 {
        causes.push(("CPU wait".to_string(), totals.time.cpu_wait_s));
        let waits = totals.time.waits.iter();
        causes.extend(waits.map(|(event, wait)| (event.clone(), wait.total_s)));
        causes.push(("not accounted for".to_string(), totals.time.unaccounted_s()));
        causes
            .iter_mut()
            .for_each(|(_, seconds)| *seconds /= totals.window_s);
    } else {
        causes = reported_off_cpu(&reports(case)).unwrap_or_default();
    }
    causes.retain(|(_, rate)| rate.is_finite() && rate.abs() >= OFF_CPU_LEAST);
    causes.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    causes
}

/// Returns the DB time off the CPU from a report. Time without an event is run queue time, or waits
/// too short for the report's list.
fn reported_off_cpu(reports: &[&LoadReport]) -> Option<Vec<(String, f64)>> {
    let [report] = reports else {
        return None;
    };
    let elapsed = report.interval.elapsed_s?.value;
    let db_time = report.db_time_s?.value;
    let named = report.events.iter();
    let named = named.filter_map(|event| Some((event.name.clone(), event.total_s?.value)));
    let mut causes: Vec<(String, f64)> = named.collect();
    let all: f64 = causes.iter().map(|(_, seconds)| seconds).sum();
    let rest = db_time - report.db_cpu_s?.value - all;
    causes.push(("not named (CPU wait, short waits)".to_string(), rest));
    causes
        .iter_mut()
        .for_each(|(_, seconds)| *seconds /= elapsed);
    Some(causes)
}
