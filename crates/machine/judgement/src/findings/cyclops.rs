//! Nearly all shared memory on one node, used from several.

use model::{Residency, Severity};

use super::row::{Check, Row};
use crate::doctor::skew::{Skew, judge, lopsided};
use crate::doctor::{DoctorInput, sight};
use crate::found::Found;

pub(super) const ROW: Row = Row {
    id: "cyclops",
    severity: Severity::Error,
    about: "nearly all shared memory is on one node while processes run on others",
    cost: "an SGA on a far node gave 2.17 instead of 4.62 million logical reads per second",
    cost_source: "Drouvot, 7 January 2015; `numalab run local-vs-remote` measures it here",
    checks: &[
        Check::Doctor(sight::target, of_target),
        Check::Inspect(check),
    ],
};

fn check(residency: &Residency) -> Option<Found> {
    match judge(residency) {
        Skew::Cyclops { node, share } => Some(lopsided(residency, node, share)),
        _ => None,
    }
}

fn of_target(input: &DoctorInput) -> Option<Found> {
    check(input.residency.as_ref()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::target;

    #[test]
    fn nearly_all_shared_memory_on_one_of_the_nodes_that_use_it_is_a_cyclops() {
        let found = of_target(&target(&[(0, 100)], "default", "0-2", "0-1")).unwrap();
        let expected = "100 % of the shared memory is on node 0; processes may run on nodes 0-1";
        assert_eq!(found.message, expected);
        let even = target(&[(0, 50), (1, 50), (2, 50)], "default", "0-2", "0-1");
        assert!(of_target(&even).is_none());
    }
}
