//! Warns of doubtful placements before a program is started under them. Pure.

use model::{CpuSet, Finding, NodeHugePages, NodeId, NodeSet, Severity};

use super::{Machine, Order};
use linux::mempolicy::Policy;

/// What the rules examine.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    /// The machine, with what the process may use.
    pub machine: &'a Machine,
    /// What was requested.
    pub order: &'a Order,
    /// The CPUs that the kernel actually lets the process use.
    pub cpus: &'a CpuSet,
    /// The huge-page pools of the nodes.
    pub huge_pages: &'a [(NodeId, Vec<NodeHugePages>)],
    /// Bytes that the program will take in huge pages, if given.
    pub huge_bytes: Option<u64>,
}

/// One rule: its id and its check.
pub struct Lint {
    /// Its id.
    pub id: &'static str,
    check: fn(&Subject<'_>) -> Option<String>,
}

/// The table of rules.
pub const LINTS: &[Lint] = &[
    Lint {
        id: "far-memory",
        check: far_memory,
    },
    Lint {
        id: "cpus-without-memory",
        check: cpus_without_memory,
    },
    Lint {
        id: "cpuset-forbids",
        check: cpuset_forbids,
    },
    Lint {
        id: "few-huge-pages",
        check: few_huge_pages,
    },
];

/// Applies every rule.
pub fn lints(subject: &Subject<'_>) -> Vec<Finding> {
    let found = LINTS.iter().filter_map(|lint| {
        Some(Finding {
            id: lint.id.to_owned(),
            severity: Severity::Warning,
            message: (lint.check)(subject)?,
        })
    });
    found.collect()
}

/// The memory nodes that the policy binds to or prefers; interleaved memory is remote on purpose.
fn kept_nodes(order: &Order) -> Option<NodeSet> {
    match order.policy.as_ref()? {
        Policy::Interleave(_) | Policy::WeightedInterleave(_) => None,
        policy => policy.nodes(),
    }
}

fn far_memory(subject: &Subject<'_>) -> Option<String> {
    let memory = kept_nodes(subject.order)?;
    let near = subject.machine.nodes_of(subject.cpus);
    if !memory.is_disjoint(&near) || memory.is_disjoint(&subject.machine.cpu_nodes()) {
        // Memory without CPUs is remote to all of them, and was chosen for its size.
        return None;
    }
    let cpus = subject.cpus;
    Some(format!(
        "CPUs {cpus} are of nodes {near}, and memory comes from nodes {memory}: all of it is remote"
    ))
}

fn cpus_without_memory(subject: &Subject<'_>) -> Option<String> {
    let memory = kept_nodes(subject.order)?;
    let near = subject.machine.nodes_of(subject.cpus);
    let without = near.difference(&memory);
    if without.is_empty() || memory.is_disjoint(&near) {
        return None;
    }
    let cpus = subject.machine.cpus_of(&without).intersection(subject.cpus);
    Some(format!(
        "memory comes from nodes {memory}, and CPUs {cpus} of nodes {without} may be used, too: \
         to them it is remote (--cpunodebind={memory} keeps both together)"
    ))
}

fn cpuset_forbids(subject: &Subject<'_>) -> Option<String> {
    let mut lost = Vec::new();
    let allowed = &subject.machine.nodes_allowed;
    if let Some(nodes) = subject.order.memory_nodes() {
        let nodes = nodes.difference(allowed);
        if !nodes.is_empty() {
            lost.push(format!("memory of nodes {nodes} (it allows {allowed})"));
        }
    }
    if let Some(asked) = &subject.order.cpus {
        let cpus = asked.difference(subject.cpus);
        if !cpus.is_empty() {
            lost.push(format!("CPUs {cpus} (left are {})", subject.cpus));
        }
    }
    if lost.is_empty() {
        return None;
    }
    Some(format!(
        "the cpuset forbids {}; the kernel leaves them out without a word",
        lost.join(" and ")
    ))
}

fn few_huge_pages(subject: &Subject<'_>) -> Option<String> {
    let nodes = subject.order.memory_nodes()?;
    let free = |wanted: bool, page_bytes: u64| -> u64 {
        let of_side = subject.huge_pages.iter();
        let pools = of_side.filter(|(node, _)| nodes.contains(*node) == wanted);
        let pools = pools.flat_map(|(_, pools)| pools);
        let of_size = pools.filter(|pool| pool.page_bytes == page_bytes);
        of_size.map(|pool| pool.free.unwrap_or(0)).sum()
    };
    let mut sizes: Vec<u64> = subject
        .huge_pages
        .iter()
        .flat_map(|(_, pools)| pools)
        .map(|pool| pool.page_bytes)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    if let Some(huge_bytes) = subject.huge_bytes {
        // For any one size: a program takes pages of one size.
        let most = sizes
            .iter()
            .map(|size| size.saturating_mul(free(true, *size)))
            .max();
        let most = most.unwrap_or(0);
        return (most < huge_bytes).then(|| {
            format!(
                "nodes {nodes} have {most} bytes of free huge pages of one size, and the program \
                 takes {huge_bytes} (`numalab pages` sets the pools)"
            )
        });
    }
    let size = sizes
        .into_iter()
        .find(|size| free(true, *size) == 0 && free(false, *size) > 0)?;
    let elsewhere = free(false, size);
    Some(format!(
        "nodes {nodes} have no free huge page of {} KiB, other nodes have {elsewhere}: a program \
         that takes huge pages will fail, or be killed by SIGBUS (`numalab pages` sets the pools)",
        size >> 10
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use linux::mempolicy::Policy;
    use model::{NodeHugePages, NodeId};

    use super::{Subject, lints};
    use crate::bind::{Machine, Order};

    fn machine() -> Machine {
        let cpus = [(0, "0-1"), (1, "2-3"), (2, "")];
        Machine {
            cpus_by_node: BTreeMap::from(
                cpus.map(|(id, cpus)| (NodeId(id), cpus.parse().unwrap())),
            ),
            memory_nodes: "0-2".parse().unwrap(),
            cpus_allowed: "0-3".parse().unwrap(),
            nodes_allowed: "0-2".parse().unwrap(),
        }
    }

    fn check(cpus: &str, policy: Option<Policy>, huge_bytes: Option<u64>, expected: &[&str]) {
        let (machine, in_force) = (machine(), cpus.parse().unwrap());
        let order = Order {
            cpus: Some(cpus.parse().unwrap()),
            policy: policy.clone(),
            policy_option: None,
        };
        let pool = |free| {
            vec![NodeHugePages {
                page_bytes: 2 << 20,
                total: 9,
                free: Some(free),
                surplus: None,
            }]
        };
        let subject = Subject {
            machine: &machine,
            order: &order,
            cpus: &in_force,
            huge_pages: &[
                (NodeId(0), pool(4)),
                (NodeId(1), pool(0)),
                (NodeId(2), pool(4)),
            ],
            huge_bytes,
        };
        let found = lints(&subject);
        let ids: Vec<_> = found.iter().map(|finding| finding.id.as_str()).collect();
        assert_eq!(ids, expected, "{cpus} {policy:?} {found:?}");
    }

    fn bind(nodes: &str) -> Option<Policy> {
        Some(Policy::Bind(nodes.parse().unwrap()))
    }

    #[test]
    fn masks_that_disagree_are_named() {
        check("0-1", bind("0"), None, &[]);
        check("0-3", bind("0-1"), None, &[]);
        check("2-3", bind("0"), None, &["far-memory"]);
        check("0-3", bind("0"), None, &["cpus-without-memory"]);
        check(
            "2",
            Some(Policy::Preferred(NodeId(0))),
            None,
            &["far-memory"],
        );
        check(
            "0",
            Some(Policy::Interleave("0-2".parse().unwrap())),
            None,
            &[],
        );
        check("2", Some(Policy::Local), None, &[]);
        check("2", None, None, &[]);
        // Memory on a node without CPUs is a deliberate choice.
        check("0", bind("2"), None, &[]);
    }

    #[test]
    fn too_few_huge_pages_are_named() {
        check("2-3", bind("1"), None, &["few-huge-pages"]);
        check("0-1", bind("0"), Some(8 << 20), &[]);
        check("0-1", bind("0"), Some(9 << 20), &["few-huge-pages"]);
        check("0-1", None, Some(9 << 20), &[]);
    }

    #[test]
    fn what_the_cpuset_takes_away_is_named() {
        let mut machine = machine();
        machine.nodes_allowed = "0".parse().unwrap();
        let order = Order {
            cpus: Some("0-2".parse().unwrap()),
            policy: bind("0-1"),
            policy_option: None,
        };
        let subject = Subject {
            machine: &machine,
            order: &order,
            cpus: &"0-1".parse().unwrap(),
            huge_pages: &[],
            huge_bytes: None,
        };
        let found = lints(&subject);
        assert_eq!(found.len(), 1, "{found:?}");
        let message = &found[0].message;
        let expected = "forbids memory of nodes 1 (it allows 0) and CPUs 2 (left are 0-1)";
        assert!(message.contains(expected), "{message}");
    }
}
