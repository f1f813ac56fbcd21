//! Quick mode: without a named experiment, `run` answers what this machine can answer in two
//! minutes.

use experiment::{Host, Plan, TRIALS_MIN};
use model::{CasePlan, Work};
use report::NotRun;

use crate::failure::Failure;

/// Seconds that all experiments together may take; what precedes them takes up to 20 more.
pub(crate) const SHORT_S: f64 = 90.0;
/// Seconds for a trial of the embedded instance, and for one of a server, whose cluster is
/// created again: 1.5 times what a virtual machine with two CPUs needed.
const TRIAL_S: (f64, f64) = (2.5, 6.0);

/// Plans the shipped experiments that this machine can run in the time, and lists the others.
pub(crate) fn of(host: &Host) -> Result<(Vec<Plan>, Vec<NotRun>), Failure> {
    let mut plans = Vec::new();
    let mut not_run = Vec::new();
    for definition in experiment::shipped_in_order(host)? {
        match experiment::plan(&definition, host) {
            Ok(plan) => plans.push(plan),
            Err(cannot) => not_run.push(NotRun::new(&definition.name, &cannot.reason)),
        }
    }
    Ok((fitting(plans, &mut not_run), not_run))
}

/// Returns the plans that can reach a verdict in the time, in their order; at least one.
fn fitting(plans: Vec<Plan>, not_run: &mut Vec<NotRun>) -> Vec<Plan> {
    let mut left_s = SHORT_S;
    let mut fitting: Vec<Plan> = Vec::new();
    let mut later = Vec::new();
    for mut plan in plans {
        leave_controls_out(&mut plan);
        let needs_s = seconds(&plan);
        if fitting.is_empty() || needs_s <= left_s {
            left_s -= needs_s;
            fitting.push(plan);
        } else {
            later.push(NotRun::new(
                &plan.experiment,
                "not enough time (run it by name)",
            ));
        }
    }
    // List those first that can run by name.
    not_run.splice(0..0, later);
    fitting
}

/// Drops controls, which are planned like another case and must tie with it: quick mode has no time
/// for them.
fn leave_controls_out(plan: &mut Plan) {
    let cases = plan.cases.clone();
    let mut index = 0;
    plan.cases.retain(|case| {
        let before = &cases[..index];
        index += 1;
        case.name == plan.baseline || !before.iter().any(|other| other.is_same_as(case))
    });
}

/// Returns the seconds until every case of a plan has the trials that an interval needs.
pub(crate) fn seconds(plan: &Plan) -> f64 {
    let trial_s = |case: &CasePlan| match case.work {
        Work::Server(..) => TRIAL_S.1,
        _ => TRIAL_S.0,
    };
    plan.cases.iter().map(trial_s).sum::<f64>() * f64::from(TRIALS_MIN)
}
