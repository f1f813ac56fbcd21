//! CPUs on some nodes, memory only on others.

use model::{Severity, ShellLine, node_words};

use super::row::{Check, Row};
use crate::doctor::memory::WORTH_BYTES;
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "masks-disagree",
    severity: Severity::Error,
    about: "processes may run on some nodes but allocate memory only on others",
    cost: "every access of theirs to memory is remote",
    cost_source: "cpuset(7); `numalab latency` measures what a remote access costs here",
    checks: &[Check::Doctor(sight::target, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let residency = input.residency.as_ref()?;
    let memory_nodes = input.topology.memory_nodes();
    let mut processes = residency.processes.iter();
    let process = processes.find(|process| {
        let (cpus, memory) = (&process.nodes_of_cpus, &process.memory_nodes_allowed);
        let near = cpus.intersection(&memory_nodes);
        !near.is_empty() && !memory.is_empty() && near.is_disjoint(memory)
    })?;
    let (cpus, memory) = (&process.nodes_of_cpus, &process.memory_nodes_allowed);
    let bytes = residency.bytes_by_node.values();
    let is_little = bytes.sum::<u64>() < WORTH_BYTES;
    Some(Found {
        severity: is_little.then_some(Severity::Warning),
        message: format!(
            "{} ({}) may run on {} only and have memory on {} only: the \
             memory of its cpuset does not follow its CPUs",
            process.name,
            process.pid,
            node_words(cpus),
            node_words(memory)
        ),
        evidence: vec![
            fact(
                format!("/proc/{}/status", process.pid),
                format!("Cpus_allowed_list {}", process.cpus),
            ),
            fact(
                format!("/proc/{}/status", process.pid),
                format!("Mems_allowed_list {memory}"),
            ),
        ],
        fix: {
            let mut fix = input.allow_memory(process.pid, cpus);
            fix.push(ShellLine::remark(format!(
                "cgroup v2 moves its memory there; under v1: migratepages {} {memory} {cpus}",
                process.pid
            )));
            fix
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::target;

    #[test]
    fn masks_that_disagree_are_found() {
        assert!(check(&target(&[(1, 50)], "default", "1", "0")).is_some());
        assert!(check(&target(&[(1, 50)], "default", "0-1", "0")).is_none());
    }
}
