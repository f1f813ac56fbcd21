//! Warnings that affect how far the figures of a run can be trusted.

use model::{Run, RunStatus};

use crate::judgement_cases::{CaseJudgement, TRIALS_ENOUGH};
use crate::ratio::{baseline_index, is_emulated};
use crate::run_figures::decimals;
use crate::run_totals::CaseTotals;
use crate::verdict_busy::busy_warning;

/// Share of DB time from which unaccounted time causes a warning.
const UNACCOUNTED_SHARE: f64 = 0.05;

/// Returns the warnings, the most serious first.
pub(crate) fn warnings(run: &Run, cases: &[CaseJudgement]) -> Vec<String> {
    let mut warnings = Vec::new();
    warnings.extend(machine_warning(run));
    warnings.extend(status_warning(run));
    if baseline_index(run).is_none() && !cases.is_empty() {
        let baseline = &run.baseline;
        warnings.push(format!(
            "the baseline {baseline} was not run, so no case is compared"
        ));
    }
    warnings.extend(trials_warning(cases));
    for case in &run.cases {
        warnings.extend(time_warning(&case.plan.name, &CaseTotals::of(case)));
    }
    warnings.extend(busy_warning(run));
    warnings.extend(calibration_warning(run));
    warnings
}

fn machine_warning(run: &Run) -> Option<String> {
    let machine = run.machine.as_ref()?;
    let hypervisor = machine.hypervisor.as_ref();
    let hypervisor = hypervisor.or(machine.topology.hypervisor.as_ref());
    if is_emulated(run) {
        return Some(
            "this machine is emulated in software: its nodes are equally far and its speeds mean \
             nothing, so no ratio, rank or winner is given; what was read back of the placement \
             holds"
                .to_string(),
        );
    }
    let may_be_about_memory = run.asks_about_memory && machine.topology.nodes.len() > 1;
    let hypervisor = hypervisor.filter(|_| may_be_about_memory)?;
    Some(format!(
        "this machine is a guest of a hypervisor ({hypervisor}): its nodes may not be the host's, \
         so a difference or its absence may not be about memory"
    ))
}

fn status_warning(run: &Run) -> Option<String> {
    let text = match run.status {
        RunStatus::Unfinished => "the run has not ended: it is still going, or it was killed",
        RunStatus::Interrupted => "the run was interrupted; the trials that had ended are kept",
        RunStatus::Failed => "the run failed; the trials that had ended are kept",
        RunStatus::Settled | RunStatus::Bounded | RunStatus::Imported => return None,
    };
    Some(text.to_string())
}

/// Returns a warning on cases that lost trials but have enough; the verdict covers those with too
/// few.
fn trials_warning(cases: &[CaseJudgement]) -> Option<String> {
    let lost = cases
        .iter()
        .filter(|it| it.valid >= TRIALS_ENOUGH && it.valid < it.trials());
    let counts = lost.map(|it| format!("{} {} of {}", it.name, it.valid, it.trials()));
    let counts: Vec<String> = counts.collect();
    (!counts.is_empty()).then(|| format!("not every trial counts: {}", counts.join(", ")))
}

fn time_warning(name: &str, totals: &CaseTotals) -> Option<String> {
    let share = totals.time.unaccounted_share();
    if totals.trials == 0 || share.is_nan() || share.abs() < UNACCOUNTED_SHARE {
        return None;
    }
    Some(if share > 0.0 {
        let percent = decimals(100.0 * share, 1);
        format!("{percent} % of the DB time of {name} is not accounted for")
    } else {
        let percent = decimals(-100.0 * share, 1);
        format!("the parts of the DB time of {name} exceed it by {percent} %")
    })
}

fn calibration_warning(run: &Run) -> Option<String> {
    let calibration = run.calibration.as_ref()?;
    (!calibration.plateau_reached).then(|| {
        format!(
            "the work unit of {} rows was still too small for the plateau, \
             so the statements are measured as well as the memory",
            calibration.work_unit
        )
    })
}
