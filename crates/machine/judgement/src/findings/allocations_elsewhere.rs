//! Memory that was requested of one node and came from another.

use linux::node_numastat::Numastat;

use model::{Severity, counted};

use super::row::{Check, Row};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, commands, fact};

pub(super) const ROW: Row = Row {
    id: "allocations-elsewhere",
    severity: Severity::Info,
    about: "a node was full, and allocations requested on it came from other nodes",
    cost: "what lies elsewhere is slower for as long as it lives",
    cost_source: "kernel, admin-guide/numastat.rst; `numalab latency` measures it here",
    checks: &[Check::Doctor(sight::allocations, check)],
};

/// Fewer pages than this are not worth a finding: 16 MiB of 4 KiB.
const SPILLED_PAGES: u64 = 4096;
/// Nor is a smaller share of what was requested of a node.
const SPILLED_PERCENT: u64 = 1;

fn check(input: &DoctorInput) -> Option<Found> {
    let spilled = |counters: &Numastat| {
        let asked = counters.hit.saturating_add(counters.foreign);
        counters.foreign >= SPILLED_PAGES && counters.foreign > asked / 100 * SPILLED_PERCENT
    };
    let worst = input
        .allocations
        .iter()
        .max_by_key(|(_, counters)| counters.foreign);
    let (node, counters) = worst.filter(|(_, counters)| spilled(counters))?;
    let file = |node| format!("/sys/devices/system/node/node{node}/numastat");
    let takers = input.allocations.iter().filter(|(_, of)| of.miss > 0);
    let mut evidence = vec![fact(
        file(*node),
        format!("numa_foreign {}", counters.foreign),
    )];
    evidence.extend(takers.map(|(node, of)| fact(file(*node), format!("numa_miss {}", of.miss))));
    Some(Found {
        message: format!(
            "since boot, {} requested on node {node} came from other nodes, and {} from the \
             node itself",
            counted(counters.foreign, "page"),
            counters.hit
        ),
        evidence,
        fix: commands(&[
            "# the node was full at the time; check whether it still happens:",
            "grep -H numa_foreign /sys/devices/system/node/node*/numastat; sleep 60; \
             grep -H numa_foreign /sys/devices/system/node/node*/numastat",
            "# if so, bind less to that node, or use --interleave instead of --preferred",
        ]),
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::*;
    use crate::doctor::samples::machine;

    #[test]
    fn memory_that_came_from_elsewhere_is_found() {
        let case = |hit, foreign, expected: bool| {
            let mut it = machine(&[&[10, 21], &[21, 10]]);
            let counters = Numastat {
                hit,
                miss: 0,
                foreign,
            };
            let other = Numastat {
                hit: 1,
                miss: foreign,
                foreign: 0,
            };
            it.allocations = [(NodeId(0), counters), (NodeId(1), other)].into();
            let found = check(&it);
            assert_eq!(found.is_some(), expected, "{hit} {foreign}");
            assert!(found.is_none_or(|found| found.evidence.len() == 2));
        };
        case(100_000, 50_000, true);
        case(100_000_000, 50_000, false);
        case(100, 50, false);
        case(100_000, 0, false);
    }
}
