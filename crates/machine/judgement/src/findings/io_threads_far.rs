//! Threads that read and write for others, far from where nearly all memory of their process lies.

use model::{
    NodeId, NodeSet, Severity, ShellLine, ThreadMask, ThreadRole, counted, node_words, shell_line,
};

use super::row::{Check, Row};
use crate::doctor::memory::WORTH_BYTES;
use crate::doctor::threads::{facts, words};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "io-threads-far",
    severity: Severity::Info,
    about: "I/O threads run far from the memory of their process",
    cost: "remote reads and writes for every request, block or page that they handle",
    cost_source: "`numalab latency` measures what a remote access costs here",
    checks: &[Check::Doctor(sight::threads, check)],
};

/// The data lies on one node above the first share; threads are remote below the second.
const SHARE_THERE: f64 = 0.9;
const SHARE_HERE: f64 = 0.1;
/// Processes of PostgreSQL have a finding of their own (`postgres-helpers-far`).
const WITH_PROCESSES: &str = "PostgreSQL";

fn check(input: &DoctorInput) -> Option<Found> {
    let threads = input.residency.as_ref()?.threads.as_ref()?;
    let mut roles = threads.roles.iter();
    roles.find_map(|role| {
        let is_of_it = role.does_io && role.server.as_deref() != Some(WITH_PROCESSES);
        let home = home(role).filter(|_| is_of_it)?;
        far(input, role, home)
    })
}

/// The node with nearly all of the data, if there is enough of it.
fn home(role: &ThreadRole) -> Option<NodeId> {
    let bytes = role.data_bytes_by_node.values();
    let all = bytes.fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    let by_node = role.data_bytes_by_node.iter();
    let (node, bytes) = by_node.max_by_key(|(_, bytes)| **bytes)?;
    let is_home = all >= WORTH_BYTES && *bytes as f64 >= SHARE_THERE * all as f64;
    is_home.then_some(*node)
}

fn far(input: &DoctorInput, role: &ThreadRole, home: NodeId) -> Option<Found> {
    let is_far = |share: Option<f64>| share.is_some_and(|share| share <= SHARE_HERE);
    let last: NodeSet = role.last_seen_by_node.keys().copied().collect();
    let (runs, nodes) = match (
        is_far(role.data_local_share),
        is_far(role.data_local_share_last),
    ) {
        (true, _) => ("may run on", &role.nodes_of_cpus),
        (false, true) => ("last ran on", &last),
        (false, false) => return None,
    };
    let (what, count) = (words(role), role.threads);
    let mut evidence = facts(role.masks.iter().map(|mask| (role, mask)));
    let seen = role.last_seen_by_node.iter();
    let seen = seen.map(|(node, count)| format!("node {node}: {count}"));
    evidence.push(fact(
        "/proc/PID/task/TID/stat, field 39",
        seen.collect::<Vec<_>>().join(", "),
    ));
    let mut nodes_of_machine = input.topology.nodes.iter();
    let cpus = nodes_of_machine.find(|node| node.id == home);
    let cpus = cpus.map_or_else(String::new, |node| node.cpus.to_string());
    let mut fix = Vec::new();
    if let (false, Some(mask)) = (cpus.is_empty(), role.masks.first()) {
        let ThreadMask { pid, tid, .. } = mask;
        fix.push(shell_line!("taskset --cpu-list --pid {} {}", cpus, tid));
        fix.push(ShellLine::remark(format!(
            "and so on for each of the {count}: ps -L -o tid,comm,psr -p {pid}"
        )));
    }
    fix.push(ShellLine::remark(format!(
        "for good: numactl --cpunodebind={home} COMMAND, or the list of CPUs of the server"
    )));
    Some(Found {
        message: format!(
            "the memory of the process is on node {home}, and {} ({what}) {runs} \
             {}",
            counted(count, "thread"),
            node_words(nodes)
        ),
        evidence,
        fix,
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use model::BytesByNode;

    use super::*;
    use crate::doctor::samples::threads;

    #[test]
    fn io_threads_on_another_node_than_the_data_are_found() {
        let found = |bytes: &[(u32, u64)], may: f64, last: f64, does_io| {
            let mut input = threads("0-7", &[("io", "4-7", 2)]);
            let residency = input.residency.as_mut().unwrap();
            let role = &mut residency.threads.as_mut().unwrap().roles[1];
            let bytes = bytes.iter().map(|(node, mib)| (NodeId(*node), mib << 20));
            role.data_bytes_by_node = bytes.collect::<BytesByNode>();
            (role.data_local_share, role.data_local_share_last) = (Some(may), Some(last));
            role.last_seen_by_node = [(NodeId(1), 2)].into();
            role.nodes_of_cpus = "1".parse().unwrap();
            role.does_io = does_io;
            check(&input).map(|found| found.message)
        };
        let home = [(0, 95), (1, 5)];
        assert_eq!(
            found(&home, 0.05, 0.05, true).unwrap(),
            "the memory of the process is on node 0, and 2 threads (other: io) may run on node 1"
        );
        let last = found(&home, 0.5, 0.05, true).unwrap();
        assert!(last.ends_with("last ran on node 1"), "{last}");
        assert_eq!(found(&home, 0.5, 0.95, true), None);
        assert_eq!(found(&home, 0.05, 0.05, false), None);
        assert_eq!(found(&[(0, 50), (1, 50)], 0.05, 0.05, true), None);
        assert_eq!(found(&[(0, 8)], 0.0, 0.0, true), None);
    }
}
