//! Several servers that run far from their memory, though each would fit on a node of its own.

use std::collections::BTreeMap;

use model::{
    ByteSize, Fact, NodeSet, ProcessResidency, Severity, ShellLine, node_words, shell_line,
    shell_word,
};
use residency::own_memory;

use super::row::{Check, Row};
use crate::doctor::instances::{Homed, bytes, homes};
use crate::doctor::memory::{WORTH_BYTES, nodes_used};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "instances-unplaced",
    severity: Severity::Warning,
    about: "several servers access memory of other nodes, though each would fit on one node",
    cost: "remote accesses that a node for each server makes local",
    cost_source: "`numalab latency` measures what a remote access costs here",
    checks: &[Check::Doctor(sight::instances, check)],
};

/// Below this share of remote accesses of all servers, nothing is worth it.
const REMOTE_SHARE: f64 = 0.1;
/// The servers in the evidence and in the commands.
const LISTED_MAX: usize = 8;
/// The processes of a server in one command.
const PROCESSES_MAX: usize = 16;

fn check(input: &DoctorInput) -> Option<Found> {
    let homed = homes(input)?;
    let all: u64 = homed.iter().map(|it| bytes(it.instance)).sum();
    let remote = homed
        .iter()
        .map(|it| it.remote_share * bytes(it.instance) as f64);
    let share = remote.sum::<f64>() / (all as f64).max(1.0);
    let nodes: NodeSet = homed.iter().map(|it| it.home).collect();
    if homed.len() < 2 || nodes.len() < 2 || all < WORTH_BYTES || share < REMOTE_SHARE {
        return None;
    }
    let mut to_place: Vec<&Homed<'_>> = homed.iter().filter(|it| !is_placed(it)).collect();
    to_place.sort_by(|one, other| other.remote_share.total_cmp(&one.remote_share));
    let mut fix: Vec<ShellLine> = to_place
        .iter()
        .take(LISTED_MAX)
        .flat_map(|it| placed(input, it))
        .collect();
    let more = to_place.len().saturating_sub(LISTED_MAX);
    fix.extend((more > 0).then(|| ShellLine::remark(format!("and so on for {more} more"))));
    Some(Found {
        message: format!(
            "{:.0} % of the accesses of {} servers are remote; each fits on one of {}, and none \
             of its accesses would be remote",
            share * 100.0,
            homed.len(),
            node_words(&nodes)
        ),
        evidence: homed.iter().take(LISTED_MAX).map(evidence).collect(),
        fix,
        ..Found::default()
    })
}

/// Whether it runs on its node, and so does all but little of its memory.
fn is_placed(homed: &Homed<'_>) -> bool {
    homed.runs_at_home() && homed.remote_share < REMOTE_SHARE
}

fn evidence(homed: &Homed<'_>) -> Fact {
    let own = own_memory(homed.instance);
    let on = own.iter().filter(|(_, bytes)| **bytes > 0);
    let on: Vec<_> = on
        .map(|(node, bytes)| format!("{} on node {node}", ByteSize(*bytes)))
        .collect();
    let used = nodes_used(homed.instance);
    let words = format!(
        "{}; CPUs of {}; {:.0} % remote; home: node {}",
        on.join(", "),
        node_words(&used),
        homed.remote_share * 100.0,
        homed.home
    );
    fact(&homed.instance.target, words)
}

/// What gives a server its node.
fn placed(input: &DoctorInput, homed: &Homed<'_>) -> Vec<ShellLine> {
    let (instance, home) = (homed.instance, homed.home);
    let Some(node) = input.topology.node(home) else {
        return Vec::new();
    };
    let target = shell_word(&instance.target);
    let cpus = &node.cpus;
    let mut lines = vec![ShellLine::remark(format!(
        "{target} on node {home}, if its CPUs {cpus} are enough for it:"
    ))];
    if !homed.runs_at_home() {
        let pids = instance.processes.iter().take(PROCESSES_MAX);
        for (old, pids) in by_cpus(pids) {
            let set = |cpus: &str| shell_line!("taskset --all-tasks --cpu-list --pid {}", cpus);
            let each = |cpus: &str| match &pids[..] {
                [pid] => shell_line!("{} {}", set(cpus), pid),
                pids => shell_line!(
                    "for pid in {}; do {} $pid; done",
                    ShellLine::words(pids),
                    set(cpus)
                ),
            };
            lines.push(each(&cpus.to_string()));
            lines.push(ShellLine::remark(format!("back: the same with {old}")));
        }
        let more = instance.processes.len().saturating_sub(PROCESSES_MAX);
        lines.extend(
            (more > 0)
                .then(|| ShellLine::remark(format!("and so on for its other processes ({more})"))),
        );
    }
    if own_memory(instance)
        .iter()
        .any(|(node, bytes)| *node != home && *bytes > 0)
    {
        lines.push(shell_line!(
            "numalab move {} --to {}",
            instance.target,
            home
        ));
    }
    let mut pids = instance.processes.iter().map(|it| it.pid);
    let unit = pids.find_map(|pid| input.units.get(&pid));
    lines.push(match unit {
        Some(unit) => ShellLine::remark(format!(
            "for good: CPUAffinity={cpus} and NUMAPolicy=local in a drop-in of {}",
            shell_word(unit)
        )),
        None => ShellLine::remark(format!(
            "for good: numactl --cpunodebind={home} --localalloc COMMAND"
        )),
    });
    lines
}

/// Processes with the same CPUs.
fn by_cpus<'a>(
    processes: impl Iterator<Item = &'a ProcessResidency>,
) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for process in processes {
        let cpus = process.cpus.to_string();
        found.entry(cpus).or_default().push(process.pid.to_string());
    }
    found
}

#[cfg(test)]
mod tests {
    use model::{BytesByNode, ClassResidency, NodeId, Residency, Topology};

    use super::*;
    use crate::doctor::samples::target;

    /// A server with this memory (MiB on nodes 0 and 1), on the CPUs of these nodes.
    fn server(name: &str, mib: [u64; 2], nodes: &str) -> Residency {
        let nodes: NodeSet = nodes.parse().unwrap();
        let mib = [(NodeId(0), mib[0] << 20), (NodeId(1), mib[1] << 20)];
        let bytes: BytesByNode = mib.into();
        let all: u64 = bytes.values().sum();
        let near = nodes
            .iter()
            .map(|node| bytes[&node] as f64 / nodes.len() as f64);
        let process = ProcessResidency {
            pid: 7,
            cpus: nodes.to_string().parse().unwrap(),
            private_local_share: Some(near.sum::<f64>() / all as f64),
            private_bytes_by_node: bytes.clone(),
            nodes_of_cpus: nodes,
            ..ProcessResidency::default()
        };
        Residency {
            target: name.to_owned(),
            private: vec![ClassResidency {
                bytes_by_node: bytes,
                ..ClassResidency::default()
            }],
            processes: vec![process],
            ..Residency::default()
        }
    }

    fn looked(instances: Vec<Residency>) -> DoctorInput {
        let machine: Topology = target(&[], "default", "0-1", "0").topology;
        DoctorInput {
            topology: machine,
            room: [(NodeId(0), 1 << 30), (NodeId(1), 1 << 30)].into(),
            instances,
            ..DoctorInput::default()
        }
    }

    #[test]
    fn servers_that_are_crosswise_get_the_nodes_of_their_memory() {
        let far = server("redis:1", [100, 0], "1");
        let near = server("redis:2", [0, 300], "1");
        let found = check(&looked(vec![far, near])).unwrap();
        assert_eq!(
            found.message,
            "25 % of the accesses of 2 servers are remote; each fits on one of nodes 0-1, and \
             none of its accesses would be remote"
        );
        let expected = [
            "# redis:1 on node 0, if its CPUs 0 are enough for it:",
            "taskset --all-tasks --cpu-list --pid 0 7",
            "# back: the same with 1",
            "# for good: numactl --cpunodebind=0 --localalloc COMMAND",
        ];
        assert_eq!(found.fix, expected);
        assert_eq!(
            found.evidence[1].value,
            "300 MiB on node 1; CPUs of node 1; 0 % remote; home: node 1"
        );
    }

    #[test]
    fn servers_of_all_nodes_are_spread_as_evenly_as_their_number_allows() {
        let everywhere = |name: &str, mib| server(name, mib, "0-1");
        let mut input = looked(vec![
            everywhere("a", [60, 40]),
            everywhere("b", [200, 0]),
            everywhere("c", [90, 10]),
        ]);
        input.units = [(7, "db@c.service".to_owned())].into();
        let homes: Vec<_> = homes(&input).unwrap().iter().map(|it| it.home.0).collect();
        assert_eq!(homes, [1, 0, 0]);
        let found = check(&input).unwrap();
        assert!(found.message.starts_with("50 % of"), "{}", found.message);
        let fix = found.fix.join("\n");
        assert!(fix.contains("numalab move a --to 1\n"), "{fix}");
        assert!(
            fix.contains("CPUAffinity=0 and NUMAPolicy=local in a drop-in of db@c"),
            "{fix}"
        );
    }

    #[test]
    fn what_is_near_or_fits_nowhere_or_is_one_alone_is_not_found() {
        let none = |instances| assert!(check(&looked(instances)).is_none());
        let near = [server("a", [100, 0], "0"), server("b", [0, 100], "1")];
        none(near.to_vec());
        none(vec![server("a", [100, 0], "1")]);
        let large = server("large", [2 << 10, 2 << 10], "0-1");
        none(vec![large, near[1].clone()]);
        none(vec![server("a", [4, 0], "1"), server("b", [0, 4], "0")]);
        none(Vec::new());
    }
}
