//! Detects whether the machine was busy with other work during the measurement.

use model::{Measured, Run, Trial};

use crate::run_figures::decimals;

/// CPUs that other processes may use in a window before it counts as disturbed: a tenth of a CPU is
/// more than an idle system uses, and enough to change a rate by several percent on a small
/// machine.
const OTHER_CPUS_MAX: f64 = 0.1;
/// Share of disturbed windows above which the whole run carries a warning.
const DISTURBED_SHARE_MAX: f64 = 0.25;

/// Returns a warning if many windows were disturbed by other processes or by the hypervisor.
pub(crate) fn busy_warning(run: &Run) -> Option<String> {
    let trials = run.cases.iter().flat_map(|case| &case.trials);
    let valid: Vec<(&Trial, &Measured)> = trials
        .filter(|trial| trial.valid_value().is_some())
        .filter_map(|trial| Some((trial, trial.measured.as_ref()?)))
        .collect();
    let taken = valid
        .iter()
        .map(|(trial, measured)| cpus_taken(trial, measured));
    let disturbed: Vec<f64> = taken.filter(|cpus| *cpus > OTHER_CPUS_MAX).collect();
    if (disturbed.len() as f64) <= valid.len() as f64 * DISTURBED_SHARE_MAX {
        return None;
    }
    let most = decimals(disturbed.iter().copied().fold(0.0, f64::max), 1);
    let (count, all) = (disturbed.len(), valid.len());
    Some(format!(
        "this machine was busy: in {count} of {all} windows others took up to {most} CPUs; \
         intervals are wide, and a difference may be theirs; run again when it is quiet"
    ))
}

/// Returns the CPUs that others used during the window of a trial, steal time included.
fn cpus_taken(trial: &Trial, measured: &Measured) -> f64 {
    let seconds = [trial.evidence.other_cpu_s, trial.evidence.steal_s];
    let seconds: f64 = seconds.into_iter().flatten().sum();
    if measured.window_s > 0.0 {
        seconds / measured.window_s
    } else {
        0.0
    }
}
