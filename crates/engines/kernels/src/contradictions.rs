//! Compares the requested placement of a measurement with what the kernel reports. Pure.

use model::{CpuId, MeasurementEvidence, MemoryEvidence, cpu_words};

use crate::placed_memory::MemoryNodes;

/// Permitted deviation of a node's share under interleave, relative to an even share.
const INTERLEAVE_TOLERANCE: f64 = 0.01;

/// Returns every way in which the evidence contradicts the placement, as text; empty if the
/// placement holds. A measurement with a contradiction is invalid.
pub fn contradictions(
    cpu: CpuId,
    nodes: &MemoryNodes,
    evidence: &MeasurementEvidence,
) -> Vec<String> {
    let mut found = Vec::new();
    let is_only = |set: &model::CpuSet| set.len() == 1 && set.contains(cpu);
    if !is_only(&evidence.cpus_allowed) {
        let seen = &evidence.cpus_allowed;
        found.push(format!(
            "the thread may use {}, requested {cpu}",
            cpu_words(seen)
        ));
    }
    if !is_only(&evidence.cpus_used) {
        let seen = &evidence.cpus_used;
        found.push(format!(
            "the thread ran on {}, requested {cpu}",
            cpu_words(seen)
        ));
    }
    memory_contradictions(nodes, &evidence.memory_before, &mut found);
    let (before, after) = (&evidence.memory_before, &evidence.memory_after);
    if before.bytes_by_node != after.bytes_by_node {
        let (before, after) = (&before.bytes_by_node, &after.bytes_by_node);
        found.push(format!(
            "pages moved during the measurement: {before:?}, then {after:?}"
        ));
    }
    if (before.page_kind, before.page_bytes) != (after.page_kind, after.page_bytes) {
        let (before, after) = (before.page_bytes, after.page_bytes);
        found.push(format!(
            "the page size changed during the measurement: {before} bytes, then {after}"
        ));
    }
    found
}

fn memory_contradictions(nodes: &MemoryNodes, memory: &MemoryEvidence, found: &mut Vec<String>) {
    if memory.bytes_without_node > 0 {
        let bytes = memory.bytes_without_node;
        found.push(format!("{bytes} bytes are not on any node"));
    }
    for (node, bytes) in &memory.bytes_by_node {
        if !nodes.contains(*node) {
            found.push(format!(
                "{bytes} bytes are on node {node}, which was not requested"
            ));
        }
    }
    if let MemoryNodes::Interleave(asked) = nodes {
        let total: u64 = memory.bytes_by_node.values().sum();
        let even = total as f64 / asked.len().max(1) as f64;
        let slack = (even * INTERLEAVE_TOLERANCE).max(memory.page_bytes as f64);
        for node in asked {
            let bytes = memory.bytes_by_node.get(&node).copied().unwrap_or(0);
            if (bytes as f64 - even).abs() > slack {
                found.push(format!(
                    "interleave is uneven: node {node} has {bytes} of {total} bytes"
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::{CpuId, MeasurementEvidence, MemoryEvidence, NodeId, PageKind};

    use super::contradictions;
    use crate::placed_memory::MemoryNodes;

    fn evidence() -> MeasurementEvidence {
        let memory = MemoryEvidence {
            page_kind: PageKind::Small,
            page_bytes: 4096,
            policy: "bind:1".to_owned(),
            bytes_by_node: BTreeMap::from([(NodeId(1), 1 << 20)]),
            bytes_without_node: 0,
        };
        MeasurementEvidence {
            cpus_allowed: "3".parse().unwrap(),
            cpus_used: "3".parse().unwrap(),
            memory_before: memory.clone(),
            memory_after: memory,
            run_queue_wait_ns: None,
            numa_pages_migrated: None,
            steal_s: None,
        }
    }

    fn check(change: impl FnOnce(&mut MeasurementEvidence), expected: &str) {
        let mut evidence = evidence();
        change(&mut evidence);
        let found = contradictions(CpuId(3), &MemoryNodes::Bind(NodeId(1)), &evidence);
        assert!(
            found.iter().any(|text| text.contains(expected)),
            "{expected}: {found:?}"
        );
    }

    #[test]
    fn a_placement_that_holds_has_no_contradiction() {
        let nodes = MemoryNodes::Bind(NodeId(1));
        assert!(contradictions(CpuId(3), &nodes, &evidence()).is_empty());
    }

    #[test]
    fn every_contradiction_is_found_and_named() {
        check(
            |e| e.cpus_allowed = "0-3".parse().unwrap(),
            "may use CPUs 0-3",
        );
        check(|e| e.cpus_used = "2-3".parse().unwrap(), "ran on CPUs 2-3");
        check(|e| e.cpus_used = "".parse().unwrap(), "ran on CPUs ,");
        check(
            |e| e.memory_before.bytes_without_node = 8192,
            "8192 bytes are not on any node",
        );
        check(
            |e| {
                e.memory_before.bytes_by_node.insert(NodeId(0), 4096);
            },
            "4096 bytes are on node 0",
        );
        check(
            |e| {
                e.memory_after.bytes_by_node.clear();
            },
            "pages moved",
        );
        check(
            |e| e.memory_after.page_bytes = 2 << 20,
            "the page size changed",
        );
    }

    #[test]
    fn interleave_must_be_even() {
        let nodes = MemoryNodes::Interleave("0-1".parse().unwrap());
        let found = contradictions(CpuId(3), &nodes, &evidence());
        assert_eq!(found.len(), 2, "{found:?}");
        let mut even = evidence();
        for memory in [&mut even.memory_before, &mut even.memory_after] {
            memory.bytes_by_node = BTreeMap::from([(NodeId(0), 1 << 20), (NodeId(1), 1 << 20)]);
        }
        assert!(contradictions(CpuId(3), &nodes, &even).is_empty());
    }
}
