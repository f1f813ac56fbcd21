//! Far more than its even share of the shared memory on one node.

use model::{Residency, Severity};

use super::row::{Check, Row};
use crate::doctor::skew::{Skew, is_in_proportion, judge, lopsided};
use crate::doctor::{DoctorInput, sight};
use crate::found::Found;

pub(super) const ROW: Row = Row {
    id: "memory-skew",
    severity: Severity::Warning,
    about: "one node has far more than an even share of the shared memory",
    cost: "a part of what a Cyclops costs; that node runs out of memory and bandwidth first",
    cost_source: "Closson, \"Introducing Cyclops\", 2007",
    checks: &[
        Check::Doctor(sight::target, of_target),
        Check::Inspect(check),
    ],
};

fn check(residency: &Residency) -> Option<Found> {
    match judge(residency) {
        Skew::Skewed { node, share } => Some(lopsided(residency, node, share)),
        _ => None,
    }
}

fn of_target(input: &DoctorInput) -> Option<Found> {
    let residency = input.residency.as_ref()?;
    match judge(residency) {
        Skew::Skewed { node, share } if is_in_proportion(input, node, share) => None,
        _ => check(residency),
    }
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::*;
    use crate::doctor::samples::target;

    #[test]
    fn memory_that_is_neither_even_nor_all_on_one_node_is_skewed() {
        assert!(of_target(&target(&[(0, 70), (1, 30)], "default", "0-2", "0-1")).is_some());
        let even = target(&[(0, 50), (1, 50), (2, 50)], "default", "0-2", "0-1");
        assert!(of_target(&even).is_none());
        // As much more as it has of the bandwidth.
        let mut input = target(&[(0, 70), (1, 30)], "default", "0-1", "0-1");
        assert!(of_target(&input).is_some());
        input.bandwidth_weights = vec![(NodeId(0), 2), (NodeId(1), 1)];
        assert!(of_target(&input).is_none());
        input.bandwidth_weights = vec![(NodeId(0), 1), (NodeId(1), 1)];
        assert!(of_target(&input).is_some());
    }
}
