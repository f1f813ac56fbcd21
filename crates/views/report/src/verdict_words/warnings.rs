//! Warnings that affect how far the figures of a run can be trusted.

use model::{Measured, Run, RunStatus, Trial, counted};
use verdict::{
    CaseJudgement, CaseTotals, Judgement, TRIALS_ENOUGH, baseline_index, cost, has_emulated_cost,
    is_emulated,
};

use crate::run::figures::{RatioText, decimals};
use crate::run::ranking::has_costs;
use crate::run::status::broken_off;
use crate::verdict_words::controls;
use crate::verdict_words::names::EMULATED_COST;
use crate::verdict_words::names::name;

/// Maximum number of costs listed; the rest are counted.
const COSTS_LISTED: usize = 8;
/// Share of DB time from which unaccounted time causes a warning.
const UNACCOUNTED_SHARE: f64 = 0.05;

/// Returns what affects how far the figures of a run can be trusted, the most serious first.
pub fn run_warnings(run: &Run, judgement: &Judgement) -> Vec<String> {
    let cases = &judgement.cases;
    let mut warnings = Vec::new();
    warnings.extend(machine_warning(run));
    warnings.extend(status_warning(run));
    warnings.extend(common_warnings(run));
    if baseline_index(run).is_none() && !cases.is_empty() {
        let baseline = &run.baseline;
        warnings.push(format!(
            "the baseline {baseline} did not run, so there is no comparison"
        ));
    }
    warnings.extend(trials_warning(cases));
    for case in &run.cases {
        warnings.extend(time_warning(&case.plan.name, &CaseTotals::of(case)));
    }
    let busy = busy_warning(run);
    let costs = busy.as_ref().and_then(|_| costs(run));
    warnings.extend(busy.into_iter().chain(costs));
    warnings.extend(calibration_warning(run));
    warnings.extend(controls::warnings(run, &judgement.controls));
    warnings
}

fn machine_warning(run: &Run) -> Option<String> {
    if has_emulated_cost(run) {
        return Some(EMULATED_COST.to_owned());
    }
    let machine = run.machine.as_ref()?;
    let hypervisor = machine.hypervisor.as_ref();
    let hypervisor = hypervisor.or(machine.topology.hypervisor.as_ref());
    if is_emulated(run) {
        return Some(
            "this machine is emulated in software: its nodes are equally far and its speeds mean \
             nothing, so there is no ratio, rank or winner; the evidence of the placement is valid"
                .to_string(),
        );
    }
    let may_be_about_memory = run.asks_about_memory && machine.topology.nodes.len() > 1;
    let hypervisor = hypervisor.filter(|_| may_be_about_memory)?;
    Some(format!(
        "this machine is a guest of a hypervisor ({hypervisor}): its nodes may not match those of \
         its host, so a difference or its absence may not be due to memory"
    ))
}

fn status_warning(run: &Run) -> Option<String> {
    let then = match run.status {
        RunStatus::Unfinished => ": it is still running, or it was killed",
        _ => "; the completed trials are kept",
    };
    Some(format!("{}{then}", broken_off(run.status)?))
}

/// Returns the warnings that all trials have in common, such as why the machine was not fit to be
/// measured: they are about the run.
fn common_warnings(run: &Run) -> Vec<String> {
    let mut trials = run.cases.iter().flat_map(|case| &case.trials);
    let Some(first) = trials.next() else {
        return Vec::new();
    };
    let (first, others): (&[String], Vec<&Trial>) = (&first.warnings, trials.collect());
    let is_common = |text: &&String| others.iter().all(|it| it.warnings.contains(text));
    first.iter().filter(is_common).cloned().collect()
}

/// Returns a warning on cases that lost trials but have enough; the verdict covers those with too
/// few.
fn trials_warning(cases: &[CaseJudgement]) -> Option<String> {
    let lost = cases
        .iter()
        .filter(|it| it.valid >= TRIALS_ENOUGH && it.valid < it.trials());
    let counts = lost.map(|it| format!("{} {} of {}", it.name, it.valid, it.trials()));
    let counts: Vec<String> = counts.collect();
    (!counts.is_empty()).then(|| format!("not all trials are valid: {}", counts.join(", ")))
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
            "the work unit of {} did not reach the plateau, so the figures include statement \
             overhead as well as memory",
            counted(calibration.work_unit, "row")
        )
    })
}

/// CPUs that other processes may use in the windows of a trial before it counts as disturbed: a
/// tenth of a CPU is more than an idle system uses, and enough to change a rate by several percent
/// on a small machine.
const OTHER_CPUS_MAX: f64 = 0.1;
/// Share of disturbed trials above which the whole run carries a warning.
const DISTURBED_SHARE_MAX: f64 = 0.25;

/// Returns a warning if many trials were disturbed by other processes or by the hypervisor.
pub(crate) fn busy_warning(run: &Run) -> Option<String> {
    let trials = run.cases.iter().flat_map(|case| &case.trials);
    let valid: Vec<(&Trial, &Measured)> = trials
        .filter(|trial| trial.valid_value().is_some())
        .filter_map(|trial| Some((trial, trial.measured.as_ref()?)))
        .collect();
    // The kernel counts CPU time in ticks: in short windows, they may add up to more than there is.
    let machine = run.machine.as_ref().map(|it| it.topology.cpus.len());
    let cpus = machine.map_or(f64::INFINITY, |cpus| cpus.max(1) as f64);
    let taken = valid
        .iter()
        .map(|(trial, measured)| cpus_taken(trial, measured).min(cpus));
    let disturbed: Vec<f64> = taken.filter(|cpus| *cpus > OTHER_CPUS_MAX).collect();
    if (disturbed.len() as f64) <= valid.len() as f64 * DISTURBED_SHARE_MAX {
        return None;
    }
    let most = decimals(disturbed.iter().copied().fold(0.0, f64::max), 1);
    let (count, all) = (disturbed.len(), valid.len());
    Some(format!(
        "this machine was busy: in {count} of {}, other work used up to {}; \
         intervals are wide, and a difference may come from it; run again when the machine is \
         quiet",
        counted(all, "trial"),
        counted(most, "CPU")
    ))
}

/// Says of a busy run what it still tells: CPU time per read, if no table has it.
fn costs(run: &Run) -> Option<String> {
    let baseline = baseline_index(run).filter(|_| !has_costs(run))?;
    let others = (0..run.cases.len()).filter(|index| *index != baseline);
    let costs = others.filter_map(|index| {
        let RatioText { ratio, low, high } = RatioText::of(cost(run, index, baseline)?);
        let case = name(&run.cases[index].plan.name);
        Some(format!("{case} {ratio} times [{low} to {high}]"))
    });
    let mut costs: Vec<String> = costs.collect();
    let more = costs.len().saturating_sub(COSTS_LISTED);
    costs.truncate(COSTS_LISTED);
    costs.extend((more > 0).then(|| format!("and {more} more")));
    (!costs.is_empty()).then(|| {
        format!(
            "CPU time per read, which other programs hardly change, compared with {}: {}",
            name(&run.baseline),
            costs.join(", ")
        )
    })
}

/// Returns the CPUs that others used during the windows of a trial, steal time included.
fn cpus_taken(trial: &Trial, measured: &Measured) -> f64 {
    let seconds = [trial.evidence.other_cpu_s, trial.evidence.steal_s];
    let seconds: f64 = seconds.into_iter().flatten().sum();
    match measured.window_s {
        Some(window_s) if window_s > 0.0 => seconds / window_s,
        _ => 0.0,
    }
}
