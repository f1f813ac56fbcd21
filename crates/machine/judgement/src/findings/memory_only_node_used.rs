//! Memory of the target on a node without CPUs.

use model::{ByteSize, NodeSet, Severity, ShellLine, node_words, shell_line};

use super::row::{Check, Row};
use crate::doctor::memory::{WORTH_BYTES, source};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "memory-only-node-used",
    severity: Severity::Warning,
    about: "memory of the target is on a node without CPUs, far from every process",
    cost: "such memory (CXL, persistent memory) is slower from every CPU",
    cost_source: "`numalab latency` measures it here",
    checks: &[Check::Doctor(sight::target, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let residency = input.residency.as_ref()?;
    // A node that the machine does not show may have any.
    let nodes = input.topology.nodes.iter();
    let without = nodes.filter(|it| !it.has_unknown_cpus && it.cpus.is_empty());
    let without: NodeSet = without.map(|it| it.id).collect();
    let mut far = residency.bytes_by_node.iter();
    let (node, bytes) =
        far.find(|(node, bytes)| without.contains(**node) && **bytes >= WORTH_BYTES)?;
    let allowed = input.allowed_database_nodes();
    let fix = match allowed.is_empty() {
        true => vec![ShellLine::remark(format!(
            "its cpuset allows memory on no node with CPUs: let it have {} (cpuset.mems)",
            node_words(input.database_nodes())
        ))],
        false => vec![
            ShellLine::of("# keep it off that node:"),
            shell_line!("numactl --membind={} COMMAND", allowed),
        ],
    };
    Some(Found {
        message: format!("{} lie on node {node}, which has no CPUs", ByteSize(*bytes)),
        evidence: vec![
            fact(
                format!("/sys/devices/system/node/node{node}/cpulist"),
                "empty",
            ),
            fact(source(residency), format!("{bytes} bytes on node {node}")),
        ],
        fix,
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::target;

    #[test]
    fn memory_on_a_node_without_cpus_is_found() {
        let fix = |allowed| {
            check(&target(&[(2, 50)], "default", allowed, "0-1"))
                .unwrap()
                .fix
        };
        assert_eq!(fix("0-2")[1], "numactl --membind=0-1 COMMAND");
        assert_eq!(fix("1-2")[1], "numactl --membind=1 COMMAND");
        assert!(fix("2")[0].contains("allows memory on no node with CPUs"));
        assert!(check(&target(&[(1, 50)], "default", "0-2", "0-1")).is_none());
    }
}
