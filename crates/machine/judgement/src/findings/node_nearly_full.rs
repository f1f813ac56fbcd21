//! One node nearly out of memory, another with plenty.

use model::{ByteSize, NodeId, Severity};

use super::row::{Check, Row};
use crate::doctor::DoctorInput;
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "node-nearly-full",
    severity: Severity::Warning,
    about: "one node is nearly out of free memory while another has plenty",
    cost: "allocations go to far nodes or wait for reclaim; bound processes are killed",
    cost_source: "Closson, \"Introducing Cyclops\", 2007; kernel, admin-guide/sysctl/vm.rst",
    checks: &[Check::Doctor(check)],
};

/// A node with less free memory than this share of it is nearly full.
const FULL_PERCENT: u64 = 2;
/// A node with more free memory than this share could have been used.
const PLENTY_PERCENT: u64 = 20;

fn check(input: &DoctorInput) -> Option<Found> {
    let nodes = input.topology.nodes.iter();
    let known: Vec<(NodeId, u64, u64)> = nodes
        .filter_map(|node| Some((node.id, node.free_bytes?, node.memory_bytes?)))
        .filter(|(_, _, all)| *all > 0)
        .collect();
    let full = known
        .iter()
        .find(|(_, free, all)| *free < all / 100 * FULL_PERCENT)?;
    let other = known
        .iter()
        .find(|(_, free, all)| *free > all / 100 * PLENTY_PERCENT)?;
    let file = |node| format!("/sys/devices/system/node/node{node}/meminfo");
    let (full_id, other_id) = (full.0, other.0);
    Some(Found {
        message: format!(
            "node {full_id} has {} free of {}, node {other_id} has {} free",
            ByteSize(full.1),
            ByteSize(full.2),
            ByteSize(other.1)
        ),
        evidence: vec![
            fact(file(full_id), format!("MemFree {}", ByteSize(full.1))),
            fact(file(other_id), format!("MemFree {}", ByteSize(other.1))),
        ],
        fix: vec![
            format!(
                "# show what uses memory on node {full_id} (the kernel frees file cache on \
                     demand):"
            ),
            format!(
                "grep -E 'FilePages|Shmem|AnonPages|HugePages' {}",
                file(full_id)
            ),
            "# start programs bound to that node with --preferred or --interleave, not --membind"
                .to_owned(),
        ],
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::machine;

    #[test]
    fn a_full_node_beside_an_empty_one_is_found() {
        let mut it = machine(&[&[10, 21], &[21, 10]]);
        assert!(check(&it).is_none());
        it.topology.nodes[0].free_bytes = Some(1 << 30);
        assert!(
            check(&it)
                .unwrap()
                .message
                .starts_with("node 0 has 1 GiB free")
        );
        it.topology.nodes[1].free_bytes = Some(1 << 30);
        assert!(check(&it).is_none());
    }
}
