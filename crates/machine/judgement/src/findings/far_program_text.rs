//! Program text on nodes where no process runs.

use model::{Residency, SegmentKind, Severity};

use super::row::{Check, Row};
use crate::doctor::far_cache::far_cache;
use crate::doctor::{DoctorInput, sight};
use crate::found::Found;

pub(super) const ROW: Row = Row {
    id: "far-program-text",
    severity: Severity::Info,
    about: "program text is cached on nodes where none of the processes may run",
    cost: "4 % of queries (190 to 182 thousand per second) on a two-socket Kunpeng server",
    cost_source: "measurements of mysqld published by plantegg",
    checks: &[
        Check::Doctor(sight::target, of_target),
        Check::Inspect(check),
    ],
};

/// Less program text than this is not worth a finding.
const WORTH_BYTES: u64 = 4 << 20;

fn check(residency: &Residency) -> Option<Found> {
    far_cache(
        residency,
        SegmentKind::ProgramText,
        "program text",
        WORTH_BYTES,
    )
}

fn of_target(input: &DoctorInput) -> Option<Found> {
    check(input.residency.as_ref()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::target;

    #[test]
    fn only_files_of_this_kind_far_away_are_found() {
        let of_kind = |kind| {
            let mut it = target(&[(1, 50)], "default", "0-2", "0");
            let residency = it.residency.iter_mut();
            let segments = residency.flat_map(|residency| &mut residency.segments);
            segments.for_each(|segment| segment.kind = kind);
            of_target(&it).is_some()
        };
        assert!(of_kind(SegmentKind::ProgramText));
        assert!(!of_kind(SegmentKind::DevShm));
        assert!(!of_kind(SegmentKind::File));
    }
}
