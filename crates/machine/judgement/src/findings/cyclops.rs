//! Nearly all shared memory on one node, used from several.

use model::{Residency, Severity};

use super::row::{Check, Row};
use crate::doctor::cure::cure;
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
        Check::Doctor(sight::target, with_cure),
        Check::Inspect(check),
    ],
};

fn check(residency: &Residency) -> Option<Found> {
    match judge(residency) {
        Skew::Cyclops { node, share } => Some(lopsided(residency, node, share)),
        _ => None,
    }
}

fn with_cure(input: &DoctorInput) -> Option<Found> {
    Some(Found {
        fix: cure(input),
        ..check(input.residency.as_ref()?)?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::target;

    #[test]
    fn the_fix_of_a_cyclops_in_dev_shm_remounts_it() {
        let found = with_cure(&target(&[(0, 100)], "default", "0-2", "0-1")).unwrap();
        assert!(
            found
                .message
                .starts_with("100 % of the shared memory is on node 0")
        );
        assert!(
            found.fix[1].ends_with("--to interleave=0-1 --shared"),
            "{found:?}"
        );
        let remount = "mount -o remount,mpol=interleave:0-1 /dev/shm";
        assert!(found.fix.iter().any(|line| line == remount), "{found:?}");
        let even = target(&[(0, 50), (1, 50), (2, 50)], "default", "0-2", "0-1");
        assert!(with_cure(&even).is_none());
    }
}
