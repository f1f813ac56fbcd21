//! Memory on nodes on which none of those that use it may run.

use model::{
    ByteSize, BytesByNode, Fact, NodeSet, ProcessResidency, Residency, Severity, node_words,
};

use super::row::{Check, Row};
use crate::doctor::memory::{WORTH_BYTES, nodes_used, shared, source};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "memory-far",
    severity: Severity::Error,
    about: "memory is on nodes on which none of the processes that use it may run",
    cost: "an SGA on a far node gave 2.17 instead of 4.62 million logical reads per second",
    cost_source: "Drouvot, 7 January 2015; `numalab run local-vs-remote` measures it here",
    checks: &[
        Check::Doctor(sight::target, of_target),
        Check::Inspect(check),
    ],
};

/// Memory of a process, or a segment, is far if more than this share of it is.
const FAR_SHARE: f64 = 0.5;
/// The most processes and segments in the evidence.
const FACTS_MAX: usize = 8;

fn of_target(input: &DoctorInput) -> Option<Found> {
    let policy = input.policies.iter();
    let policy = policy.filter(|(_, policy)| !["default", "local"].contains(&policy.as_str()));
    let policy = policy
        .map(|(pid, policy)| fact(format!("/proc/{pid}/numa_maps"), format!("policy {policy}")));
    // Memory of nodes without CPUs is near to nobody: that is `memory-only-node-used`.
    let topology = &input.topology;
    let apart = topology.memory_nodes().difference(&topology.cpu_nodes());
    let mut found = far_from_users(input.residency.as_ref()?, &apart)?;
    found.evidence.extend(policy);
    found.evidence.extend(input.placed_by.iter().cloned());
    Some(found)
}

fn check(residency: &Residency) -> Option<Found> {
    far_from_users(residency, &NodeSet::new())
}

/// Memory that is far, but for that of the nodes `apart`.
fn far_from_users(residency: &Residency, apart: &NodeSet) -> Option<Found> {
    let processes = residency.processes.iter().filter_map(|process| {
        let nodes = &process.nodes_of_cpus;
        // Which memory they may not have near them is what `masks-disagree` says.
        let may = &process.memory_nodes_allowed;
        let is_known = !nodes.is_empty() && (may.is_empty() || !nodes.is_disjoint(may));
        let part = is_known.then(|| far(&process.private_bytes_by_node, &nodes.union(apart)))??;
        let words = private_words(process, &part);
        Some((part, fact(file(process), words)))
    });
    let used = nodes_used(residency);
    let can_be_near = residency.processes.iter().all(|process| {
        let may = &process.memory_nodes_allowed;
        !process.nodes_of_cpus.is_empty()
            && (may.is_empty() || !process.nodes_of_cpus.is_disjoint(may))
    });
    let segments = shared(residency)
        .filter(|_| can_be_near)
        .filter_map(|segment| {
            let part = far(&segment.bytes_by_node, &used.union(apart))?;
            let words = format!(
                "{} of {} of {} on {}",
                ByteSize(part.bytes),
                ByteSize(segment.bytes()),
                segment.name,
                node_words(&part.nodes)
            );
            Some((part, fact(source(residency), words)))
        });
    let mut parts: Vec<(Far, Fact)> = processes.chain(segments).collect();
    parts.sort_by_key(|(part, _)| std::cmp::Reverse(part.bytes));
    let bytes: u64 = parts.iter().map(|(part, _)| part.bytes).sum();
    let nodes: NodeSet = parts
        .iter()
        .flat_map(|(part, _)| part.nodes.iter())
        .collect();
    let all: u64 = parts.iter().map(|(part, _)| part.all).sum();
    let (far, whole) = (ByteSize(bytes), ByteSize(all));
    let message = match nodes.is_disjoint(&used) {
        true => format!(
            "{far} of {whole} are on {}, and those who use them may run on {} only",
            node_words(&nodes),
            node_words(&used)
        ),
        false => format!("{far} of {whole} are on other nodes than the CPUs of those who use them"),
    };
    (!parts.is_empty()).then(|| Found {
        message,
        evidence: parts
            .into_iter()
            .take(FACTS_MAX)
            .map(|(_, fact)| fact)
            .collect(),
        ..Found::default()
    })
}

/// Memory that is far.
struct Far {
    /// Its size, and that of all of which it is a part.
    bytes: u64,
    all: u64,
    /// Its nodes.
    nodes: NodeSet,
}

/// The part of this memory that is on other nodes than these, if that is most of it and enough.
fn far(memory: &BytesByNode, near: &NodeSet) -> Option<Far> {
    let all: u64 = memory.values().sum();
    let far = memory
        .iter()
        .filter(|(node, bytes)| **bytes > 0 && !near.contains(**node));
    let nodes = far.clone().map(|(node, _)| *node).collect();
    let bytes: u64 = far.map(|(_, bytes)| bytes).sum();
    let is_found = bytes >= WORTH_BYTES && bytes as f64 > FAR_SHARE * all as f64;
    is_found.then_some(Far { bytes, all, nodes })
}

fn file(process: &ProcessResidency) -> String {
    format!("/proc/{}/status", process.pid)
}

fn private_words(process: &ProcessResidency, far: &Far) -> String {
    format!(
        "{}: Cpus_allowed_list {}; {} of {} private memory on {}",
        process.name,
        process.cpus,
        ByteSize(far.bytes),
        ByteSize(far.all),
        node_words(&far.nodes)
    )
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::*;
    use crate::doctor::samples::target;

    #[test]
    fn shared_memory_where_nobody_may_run_is_far_and_no_cyclops() {
        let far = target(&[(1, 100)], "default", "0-2", "0");
        let found = of_target(&far).unwrap();
        let expected = "100 MiB of 100 MiB are on node 1, and those who use them may run on \
                        node 0 only";
        assert_eq!(found.message, expected);
        let none = |bytes: &[(u32, u64)], allowed: &str, cpus: &str| {
            assert!(of_target(&target(bytes, "default", allowed, cpus)).is_none());
        };
        none(&[(0, 100)], "0-2", "0");
        none(&[(1, 100)], "0-2", "0-1");
        none(&[(0, 60), (1, 40)], "0-2", "0");
        none(&[(1, 10)], "0-2", "0");
        // The cpuset is the cause.
        none(&[(1, 100)], "1", "0");
        // Near to nobody.
        none(&[(2, 100)], "0-2", "0");
    }

    #[test]
    fn private_memory_where_its_process_may_not_run_is_far() {
        let mut input = target(&[], "default", "0-2", "0");
        input.policies = [(0, "bind:1".to_owned())].into();
        let process = &mut input.residency.as_mut().unwrap().processes[0];
        process.private_bytes_by_node = [(NodeId(0), 5 << 20), (NodeId(1), 95 << 20)].into();
        let found = of_target(&input).unwrap();
        assert!(
            found
                .message
                .starts_with("95 MiB of 100 MiB are on node 1,"),
            "{found:?}"
        );
        let values: Vec<_> = found.evidence.iter().map(|it| it.value.as_str()).collect();
        assert!(values.contains(&"policy bind:1"), "{values:?}");
        // Another process that is far the other way round.
        let residency = input.residency.as_mut().unwrap();
        let mut other = residency.processes[0].clone();
        other.nodes_of_cpus = "1".parse().unwrap();
        other.private_bytes_by_node = [(NodeId(0), 95 << 20)].into();
        residency.processes.push(other);
        let both = of_target(&input).unwrap().message;
        let expected = "190 MiB of 195 MiB are on other nodes than the CPUs of those who use them";
        assert_eq!(both, expected);
    }
}
