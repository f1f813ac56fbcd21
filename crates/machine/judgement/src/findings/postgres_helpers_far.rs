//! Helpers that run far from where nearly all shared memory lies.

use model::{BytesByNode, NodeSet, ProcessResidency, Severity, node_words, shell_line};

use super::row::{Check, Row};
use crate::doctor::postgres_server::postmaster;
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "postgres-helpers-far",
    severity: Severity::Info,
    about: "I/O workers or the WAL writer of PostgreSQL run far from its shared memory",
    cost: "remote writes and reads for each block and each record of the log that they handle",
    cost_source: "`numalab latency` measures what a remote access costs here",
    checks: &[Check::Doctor(sight::postgres, check)],
};

/// The helpers that sessions wait for: those that read for them (18 and later), and the log writer.
const HELPERS: [&str; 2] = ["io worker", "walwriter"];
/// Shared memory lies on one node above the first share; a helper is remote below the second.
const SHARE_THERE: f64 = 0.9;
const SHARE_HERE: f64 = 0.1;

fn check(input: &DoctorInput) -> Option<Found> {
    let residency = input.residency.as_ref()?;
    postmaster(residency)?;
    let mut by_node = BytesByNode::new();
    for (node, bytes) in input.shared().flat_map(|segment| &segment.bytes_by_node) {
        *by_node.entry(*node).or_default() += bytes;
    }
    let all: u64 = by_node.values().sum();
    let share = |nodes: &NodeSet| -> f64 {
        let there = by_node.iter().filter(|(node, _)| nodes.contains(**node));
        there.map(|(_, bytes)| bytes).sum::<u64>() as f64 / all as f64
    };
    let (home, _) = by_node.iter().max_by_key(|(_, bytes)| **bytes)?;
    if share(&[*home].into_iter().collect()) < SHARE_THERE {
        return None;
    }
    let far: Vec<(&ProcessResidency, NodeSet)> = residency
        .processes
        .iter()
        .filter(|process| HELPERS.contains(&process.class.as_str()))
        .map(|process| (process, node_of(process)))
        .filter(|(_, nodes)| !nodes.is_empty() && share(nodes) < SHARE_HERE)
        .collect();
    let (first, nodes) = far.first()?;
    let (class, pid) = (&first.class, first.pid);
    let others = match far.len() {
        1 => String::new(),
        count => format!(
            "; {} more of the server's helpers run far from it",
            count - 1
        ),
    };
    let evidence = far.iter().map(|(process, nodes)| {
        let pid = process.pid;
        fact(
            format!("/proc/{pid}/stat, /proc/{pid}/status"),
            node_words(nodes),
        )
    });
    Some(Found {
        message: format!(
            "the shared memory is on node {home}, but the {class} ({pid}) runs on \
             {}{others}",
            node_words(nodes)
        ),
        evidence: evidence.collect(),
        fix: far
            .iter()
            .map(|(process, _)| {
                let cpus = input.topology.nodes.iter().find(|node| node.id == *home);
                let cpus = cpus.map(|node| node.cpus.to_string()).unwrap_or_default();
                shell_line!("taskset -cp {} {}", cpus, process.pid)
            })
            .collect(),
        ..Found::default()
    })
}

/// Where a process runs: the only node it may run on, else the one where it last ran.
fn node_of(process: &ProcessResidency) -> NodeSet {
    process
        .pinned_to_node
        .or(process.last_node)
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use model::{NodeId, Residency};

    use super::*;
    use crate::doctor::samples::server;

    #[test]
    fn helpers_on_the_other_node_are_found() {
        let with = |change: fn(&mut Residency)| {
            let mut input = server("off", 4096, "0-1");
            change(input.residency.as_mut().unwrap());
            check(&input)
        };
        assert!(with(|_| {}).is_none());
        let found = with(|it| it.processes[1].last_node = Some(NodeId(1))).unwrap();
        assert!(
            found.message.contains("the io worker (2) runs on node 1"),
            "{found:?}"
        );
        assert_eq!(found.fix, ["taskset -cp 0 2"]);
        let spread = with(|it| {
            it.processes[1].last_node = Some(NodeId(1));
            it.segments[0].bytes_by_node = [(NodeId(0), 32 << 20), (NodeId(1), 32 << 20)].into();
        });
        assert!(spread.is_none());
        let session = with(|it| {
            it.processes[1].last_node = Some(NodeId(1));
            it.processes[1].class = "session".to_owned();
        });
        assert!(session.is_none());
    }
}
