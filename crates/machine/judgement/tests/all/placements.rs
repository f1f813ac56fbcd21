//! What is doubtful about placements on a described machine, and nothing else.

use std::collections::BTreeMap;

use judgement::BindInput;
use judgement::findings::of_bind;
use linux::mempolicy::Policy;
use model::{NodeHugePages, NodeId};
use placement::bind::{Machine, Order};

fn machine() -> Machine {
    let cpus = [(0, "0-1"), (1, "2-3"), (2, "")];
    Machine {
        cpus_by_node: BTreeMap::from(cpus.map(|(id, cpus)| (NodeId(id), cpus.parse().unwrap()))),
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
    let input = BindInput {
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
    let found = of_bind(&input);
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
    let input = BindInput {
        machine: &machine,
        order: &order,
        cpus: &"0-1".parse().unwrap(),
        huge_pages: &[],
        huge_bytes: None,
    };
    let found = of_bind(&input);
    assert_eq!(found.len(), 1, "{found:?}");
    let message = &found[0].message;
    let expected = "forbids memory of node 1 (it allows 0) and CPU 2 (leaving 0-1)";
    assert!(message.contains(expected), "{message}");
}
