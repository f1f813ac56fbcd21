//! Chooses the cases that a run continues with when there is no time for all.

use std::collections::BTreeSet;

use model::{Case, CasePlan};

/// The rounds still to run, the time left, and the minimum time of a case in one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Room {
    pub rounds: u32,
    pub left_s: f64,
    pub case_s: f64,
}

impl Room {
    /// Returns the cases, by index, for which there is no time. The baseline and one case to
    /// compare with it always stay: without them there is no result.
    pub(super) fn left_out(&self, cases: &[Case], baseline: &str) -> BTreeSet<usize> {
        let fitting = self.left_s / (self.case_s * f64::from(self.rounds));
        let kept = match fitting.is_finite() {
            true => (fitting.max(0.0) as usize).max(2),
            false => cases.len(),
        };
        by_likeness(cases, baseline)
            .into_iter()
            .skip(kept)
            .collect()
    }
}

/// Returns the cases, by index: the baseline, then by increasing difference from it, and last those
/// that only repeat another case.
fn by_likeness(cases: &[Case], baseline: &str) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cases.len()).collect();
    let Some(like) = cases.iter().find(|case| case.plan.name == baseline) else {
        return order;
    };
    let repeats = |index: usize| {
        let plan = &cases[index].plan;
        cases[..index]
            .iter()
            .any(|other| other.plan.is_same_as(plan))
            && plan.name != baseline
    };
    order.sort_by_key(|index| {
        let plan = &cases[*index].plan;
        let differences = differences(plan, &like.plan);
        (plan.name != baseline, repeats(*index), differences)
    });
    order
}

/// Counts how a case differs from the baseline in what a like-for-like comparison keeps equal:
/// usable CPU time, and where memory may lie.
fn differences(case: &CasePlan, baseline: &CasePlan) -> usize {
    let sga = |case: &CasePlan| {
        case.instance()
            .or(case.logical_reads())
            .map(|it| it.sga.clone())
    };
    [
        case.busy_cpus() != baseline.busy_cpus(),
        case.placement.memory_nodes != baseline.placement.memory_nodes
            || sga(case) != sga(baseline),
    ]
    .into_iter()
    .filter(|differs| *differs)
    .count()
}

#[cfg(test)]
mod tests {
    use super::super::test_plans::case;
    use super::*;

    fn cases() -> Vec<Case> {
        let mut plans = ["free", "base", "near", "again", "far"].map(case);
        plans[1].placement.cpus = Some("0".parse().unwrap());
        plans[2].placement.cpus = Some("1".parse().unwrap());
        plans[3] = CasePlan {
            name: "again".to_owned(),
            ..plans[1].clone()
        };
        plans[4].placement.memory_nodes = Some("1".parse().unwrap());
        let empty = |plan| Case {
            plan,
            trials: Vec::new(),
        };
        plans.into_iter().map(empty).collect()
    }

    #[test]
    fn what_is_like_the_baseline_comes_first_and_controls_last() {
        assert_eq!(by_likeness(&cases(), "base"), [1, 2, 0, 4, 3]);
        assert_eq!(by_likeness(&cases(), "none"), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn as_many_cases_are_kept_as_there_is_time_for() {
        let left_out = |left_s| {
            let room = Room {
                rounds: 4,
                left_s,
                case_s: 2.0,
            };
            let left_out = room.left_out(&cases(), "base");
            left_out.into_iter().collect::<Vec<usize>>()
        };
        assert!(left_out(f64::INFINITY).is_empty());
        assert!(left_out(40.0).is_empty());
        assert_eq!(left_out(39.0), [3]);
        assert_eq!(left_out(24.0), [3, 4]);
        for short_s in [16.0, 1.0, 0.0, -3.0] {
            assert_eq!(left_out(short_s), [0, 3, 4]);
        }
    }
}
