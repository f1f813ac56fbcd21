//! Data files on nodes where no process runs; known if they were requested.

use model::{Residency, SegmentKind, Severity};

use super::row::{Check, Row};
use crate::doctor::far_cache::far_cache;
use crate::doctor::{DoctorInput, sight};
use crate::found::Found;

pub(super) const ROW: Row = Row {
    id: "far-data-files",
    severity: Severity::Info,
    about: "data files are cached on nodes where none of the processes may run",
    cost: "every read copies from a far node; pages stay where another process cached them",
    cost_source: "kernel, admin-guide/mm/numa_memory_policy.rst; `numalab latency` measures it",
    checks: &[
        Check::Doctor(sight::target, of_target),
        Check::Inspect(check),
    ],
};

/// Fewer bytes of data files than this are not worth a finding.
const WORTH_BYTES: u64 = 16 << 20;

fn check(residency: &Residency) -> Option<Found> {
    far_cache(
        residency,
        SegmentKind::File,
        "cached data files",
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
        assert!(of_kind(SegmentKind::File));
        assert!(!of_kind(SegmentKind::DevShm));
        assert!(!of_kind(SegmentKind::ProgramText));
    }
}
