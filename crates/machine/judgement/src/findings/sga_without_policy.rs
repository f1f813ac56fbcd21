//! Shared memory without a policy although several nodes use it.

use model::{ByteSize, Layout, Severity, node_words};

use super::row::{Check, Row};
use crate::doctor::cure::spread_at_restart;
use crate::doctor::memory::{WORTH_BYTES, nodes_used};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "sga-without-policy",
    severity: Severity::Info,
    about: "shared memory has no policy although several nodes use it",
    cost: "none yet, but page placement is left to chance: a restart may produce a Cyclops",
    cost_source: "Closson, \"Introducing Cyclops\", 2007",
    checks: &[Check::Doctor(sight::target, check)],
};

/// No policy although several nodes use the memory.
fn check(input: &DoctorInput) -> Option<Found> {
    let residency = input.residency.as_ref()?;
    let bytes: u64 = input.shared().map(|segment| segment.bytes()).sum();
    let used = nodes_used(residency);
    let is_open = residency.layout == Layout::Default && bytes >= WORTH_BYTES;
    (is_open && used.len() > 1 && input.allowed_database_nodes().len() > 1).then(|| Found {
        evidence: vec![fact("/proc/PID/numa_maps", "policy default")],
        fix: spread_at_restart(input, &input.allowed_database_nodes(), false),
        ..Found::that(format!(
            "{} of shared memory has no policy and is used from {}",
            ByteSize(bytes),
            node_words(used)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::target;

    #[test]
    fn shared_memory_without_policy_is_found_where_several_nodes_use_it() {
        assert!(check(&target(&[(0, 50), (1, 50)], "default", "0-2", "0-1")).is_some());
        assert!(check(&target(&[(0, 50)], "default", "0-2", "0")).is_none());
        assert!(check(&target(&[(0, 50)], "interleave:0-1", "0-2", "0-1")).is_none());
    }
}
