//! Compares the requested placement of a program with one look at it. Pure.

use std::collections::BTreeMap;

use linux::mempolicy::Policy;
use model::{BytesByNode, CpuSet, NodeId, NodeSet, ProcessResidency, cpu_words, node_words};

use super::{Look, Order};

/// How far an interleaved node may be from its share, relative to the share.
const SHARE_TOLERANCE: f64 = 0.05;
/// Deviation that is always allowed: transparent huge pages are interleaved whole, and interleaving
/// starts over in each of a program's handful of areas.
const SLACK_BYTES: f64 = (4 << 20) as f64;
/// Share of the memory that must lie on the preferred nodes; the kernel may fall back to others.
const PREFERRED_SHARE: f64 = 0.95;

/// Every way in which `look` contradicts the order, in words; empty when the placement holds.
///
/// `group` holds the CPUs and memory nodes of the processor group, `weights` the kernel's weights
/// for weighted interleaving, and `near` returns the nodes of some CPUs.
pub fn contradictions(
    order: &Order,
    group: Option<(&CpuSet, &NodeSet)>,
    weights: &BTreeMap<NodeId, u64>,
    look: &Look,
    near: impl Fn(&CpuSet) -> NodeSet,
) -> Vec<String> {
    let mut found = Vec::new();
    let asked_cpus = order.cpus.as_ref().or(group.map(|(cpus, _)| cpus));
    if let Some(asked) = asked_cpus {
        let processes = look.residency.processes.iter();
        found.extend(processes.filter_map(|process| cpus(process, asked)));
    }
    for one in &look.overrides {
        let (name, how, policy, bytes) = (&one.name, one.how.words(), &one.policy, one.bytes);
        found.push(format!(
            "{name} overrides the policy in {} of its processes: {policy} for {bytes} bytes \
             ({how})",
            one.processes
        ));
    }
    let group_nodes = group.map(|(_, nodes)| nodes);
    if let Some(nodes) = group_nodes {
        found.extend(outside(
            &look.memory,
            nodes,
            look.bytes_of_readers,
            "the group allows",
        ));
    }
    match (&order.policy, asked_cpus, group_nodes) {
        (Some(Policy::Local | Policy::Default), Some(cpus), _) | (None, Some(cpus), None) => {
            found.extend(preferred(&look.memory, &near(cpus)));
        }
        (Some(policy), ..) => found.extend(by_policy(policy, group_nodes, weights, look)),
        (None, ..) => {}
    }
    found
}

/// What contradicts a policy that names nodes.
fn by_policy(
    policy: &Policy,
    group_nodes: Option<&NodeSet>,
    weights: &BTreeMap<NodeId, u64>,
    look: &Look,
) -> Vec<String> {
    let memory = &look.memory;
    let nodes = policy.nodes().unwrap_or_default();
    // The kernel ignores nodes that the cpuset forbids.
    let kept = group_nodes.map_or(nodes.clone(), |group| nodes.intersection(group));
    let weighted = |weight: fn(Option<&u64>) -> u64| {
        let of_node = |node| (node, weight(weights.get(&node)));
        interleaved(memory, &kept.iter().map(of_node).collect())
    };
    match policy {
        // The kernel does not balance memory with such a policy.
        Policy::Bind(_) => outside(memory, &kept, 0, "bound to").into_iter().collect(),
        Policy::BindBalancing(_) => outside(memory, &kept, look.bytes_of_readers, "bound to")
            .into_iter()
            .collect(),
        Policy::Interleave(_) => weighted(|_| 1),
        Policy::WeightedInterleave(_) => weighted(|weight| weight.copied().unwrap_or(1)),
        Policy::Preferred(_) | Policy::PreferredMany(_) => {
            preferred(memory, &nodes).into_iter().collect()
        }
        Policy::Local | Policy::Default => Vec::new(),
    }
}

fn cpus(process: &ProcessResidency, asked: &CpuSet) -> Option<String> {
    let (pid, name, seen) = (process.pid, &process.name, &process.cpus);
    (!seen.is_subset(asked)).then(|| {
        format!(
            "{name} ({pid}) may run on {}, requested {asked}",
            cpu_words(seen)
        )
    })
}

fn bytes_on(memory: &BytesByNode, nodes: &NodeSet) -> u64 {
    nodes.iter().filter_map(|node| memory.get(&node)).sum()
}

/// What is on other nodes, if it is more than `allowed` bytes.
fn outside(memory: &BytesByNode, nodes: &NodeSet, allowed: u64, why: &str) -> Option<String> {
    let elsewhere = memory
        .iter()
        .filter(|(node, bytes)| !nodes.contains(**node) && **bytes > 0);
    let bytes: u64 = elsewhere.clone().map(|(_, bytes)| bytes).sum();
    if bytes <= allowed {
        return None;
    }
    let elsewhere: Vec<_> = elsewhere
        .map(|(node, bytes)| format!("{bytes} bytes are on node {node}"))
        .collect();
    Some(format!("{}; {why} {nodes}", elsewhere.join(", ")))
}

fn interleaved(memory: &BytesByNode, weights: &BTreeMap<NodeId, u64>) -> Vec<String> {
    let nodes: NodeSet = weights.keys().copied().collect();
    let mut found: Vec<String> = outside(memory, &nodes, 0, "interleaved over")
        .into_iter()
        .collect();
    let total = bytes_on(memory, &nodes);
    let all: u64 = weights.values().sum();
    for (node, weight) in weights {
        let bytes = memory.get(node).copied().unwrap_or(0);
        let share = total as f64 * *weight as f64 / all as f64;
        if (bytes as f64 - share).abs() > share * SHARE_TOLERANCE + SLACK_BYTES {
            found.push(format!(
                "interleaving is uneven: node {node} has {bytes} of {total} bytes, its share is \
                 {share:.0}"
            ));
        }
    }
    found
}

fn preferred(memory: &BytesByNode, nodes: &NodeSet) -> Option<String> {
    let (there, total) = (bytes_on(memory, nodes), memory.values().sum::<u64>());
    let is_enough = there as f64 >= total as f64 * PREFERRED_SHARE;
    (!is_enough).then(|| {
        format!(
            "{there} of {total} bytes are on {}, which are to come first",
            node_words(nodes)
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use linux::mempolicy::Policy;
    use model::{NodeId, NodeSet, OverrideKind, PolicyOverride, ProcessResidency, Residency};

    use super::contradictions;
    use crate::bind::{Look, Order};

    const MIB: u64 = 1 << 20;

    fn look(mib: &[u64], cpus: &str) -> Look {
        let memory = (0..).zip(mib).map(|(node, mib)| (NodeId(node), mib * MIB));
        let process = ProcessResidency {
            pid: 7,
            name: "db".to_owned(),
            cpus: cpus.parse().unwrap(),
            ..ProcessResidency::default()
        };
        Look {
            memory: memory.collect(),
            residency: Residency {
                processes: vec![process],
                ..Residency::default()
            },
            overrides: Vec::new(),
            bytes_of_readers: 0,
        }
    }

    /// CPUs `0-1` were requested, which belong to node 0.
    fn found(policy: Option<Policy>, group: Option<&str>, look: &Look) -> Vec<String> {
        let order = Order {
            cpus: Some("0-1".parse().unwrap()),
            policy,
            policy_option: None,
        };
        let group: Option<NodeSet> = group.map(|nodes| nodes.parse().unwrap());
        let (cpus, nodes) = ("0-1".parse().unwrap(), group.as_ref());
        let group = nodes.map(|nodes| (&cpus, nodes));
        let weights = BTreeMap::from([(NodeId(0), 3), (NodeId(1), 1)]);
        contradictions(&order, group, &weights, look, |_| NodeSet::of(NodeId(0)))
    }

    fn check(policy: Option<Policy>, mib: &[u64], expected: Option<&str>) {
        let found = found(policy.clone(), None, &look(mib, "0-1"));
        match expected {
            None => assert_eq!(found, Vec::<String>::new(), "{policy:?} {mib:?}"),
            Some(text) => {
                assert!(
                    found.iter().any(|it| it.contains(text)),
                    "{policy:?} {found:?}"
                );
            }
        }
    }

    fn nodes(text: &str) -> NodeSet {
        text.parse().unwrap()
    }

    #[test]
    fn every_policy_has_its_own_measure() {
        let bind = |text| Some(Policy::Bind(nodes(text)));
        check(bind("0"), &[64], None);
        check(bind("1"), &[0, 64], None);
        check(
            bind("1"),
            &[1, 64],
            Some("1048576 bytes are on node 0; bound to 1"),
        );
        let interleave = || Some(Policy::Interleave(nodes("0-1")));
        check(interleave(), &[64, 66], None);
        check(interleave(), &[1, 0], None);
        check(
            interleave(),
            &[64, 96],
            Some("interleaving is uneven: node 0"),
        );
        check(
            interleave(),
            &[64, 64, 1],
            Some("on node 2; interleaved over 0-1"),
        );
        let weighted = || Some(Policy::WeightedInterleave(nodes("0-1")));
        check(weighted(), &[96, 32], None);
        check(weighted(), &[64, 64], Some("its share is 100663296"));
        let preferred = || Some(Policy::Preferred(NodeId(1)));
        check(preferred(), &[3, 97], None);
        check(
            preferred(),
            &[50, 50],
            Some("are on node 1, which are to come first"),
        );
        check(Some(Policy::PreferredMany(nodes("0-1"))), &[50, 50], None);
        check(
            Some(Policy::PreferredMany(nodes("0-1"))),
            &[0, 0, 9],
            Some("nodes 0-1"),
        );
    }

    #[test]
    fn without_a_policy_memory_is_to_be_near_the_cpus() {
        for policy in [None, Some(Policy::Local)] {
            check(policy.clone(), &[97, 3], None);
            check(
                policy,
                &[50, 50],
                Some("are on node 0, which are to come first"),
            );
        }
    }

    #[test]
    fn a_group_keeps_memory_and_narrows_policies() {
        assert!(found(None, Some("1"), &look(&[0, 64], "0")).is_empty());
        let stray = found(None, Some("1"), &look(&[1, 64], "0"));
        assert!(
            stray[0].contains("on node 0; the group allows 1"),
            "{stray:?}"
        );
        let interleave = Some(Policy::Interleave(nodes("0-2")));
        assert!(found(interleave, Some("0-1"), &look(&[64, 64], "0")).is_empty());
    }

    #[test]
    fn what_readers_of_the_command_line_may_move_contradicts_nothing() {
        let with = |bytes_of_readers, policy| {
            let look = Look {
                bytes_of_readers,
                ..look(&[1, 64], "0")
            };
            found(policy, Some("1"), &look).len()
        };
        assert_eq!((with(MIB, None), with(MIB - 1, None)), (0, 1));
        let balancing = || Some(Policy::BindBalancing(nodes("1")));
        assert_eq!((with(MIB, balancing()), with(0, balancing())), (0, 2));
        assert_eq!(with(MIB, Some(Policy::Bind(nodes("1")))), 1);
    }

    #[test]
    fn cpus_and_overrides_are_named() {
        let mut look = look(&[64], "0-3");
        look.overrides.push(PolicyOverride {
            name: "db".to_owned(),
            processes: 2,
            how: OverrideKind::Mbind,
            policy: "interleave:0-1".to_owned(),
            bytes: 4096,
        });
        let found = found(Some(Policy::Bind(nodes("0"))), None, &look);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("db (7) may run on CPUs 0-3, requested 0-1"));
        assert!(found[1].contains("interleave:0-1 for 4096 bytes (mbind on its own memory)"));
    }
}
