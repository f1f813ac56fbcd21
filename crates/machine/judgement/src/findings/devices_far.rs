//! Disks and networks on nodes on which no process of the target may run.

use model::{NodeSet, Severity, ShellLine, node_words};

use super::row::{Check, Row};
use crate::doctor::memory::nodes_used;
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "devices-far",
    severity: Severity::Info,
    about: "a disk or a network of the target is on a node on which it may not run",
    cost: "up to 20 % where the network decides, more than the placement of memory",
    cost_source: "measurements published by plantegg",
    checks: &[Check::Doctor(sight::target, check)],
};

/// The devices in the evidence.
const LISTED_MAX: usize = 8;

fn check(input: &DoctorInput) -> Option<Found> {
    let residency = input.residency.as_ref()?;
    let used = nodes_used(residency);
    let knows_all = residency.processes.iter().all(|it| !it.cpus.is_empty());
    let devices = input.devices.iter();
    let known = devices.filter_map(|(name, device)| Some((name, device.node?)));
    let far: Vec<_> = known.filter(|(_, node)| !used.contains(*node)).collect();
    if far.is_empty() || used.is_empty() || !knows_all {
        return None;
    }
    let nodes: NodeSet = far.iter().map(|(_, node)| *node).collect();
    let names: Vec<_> = far
        .iter()
        .take(LISTED_MAX)
        .map(|(name, _)| &***name)
        .collect();
    let evidence = far.iter().take(LISTED_MAX);
    Some(Found {
        message: format!(
            "{} on {}, and the processes may run on {} only",
            names.join(", "),
            node_words(&nodes),
            node_words(&used)
        ),
        evidence: evidence
            .map(|(name, node)| fact(*name, format!("numa_node {node}")))
            .collect(),
        fix: vec![
            ShellLine::remark(format!(
                "if it waits for these more than for memory, run it on {}, with its memory:",
                node_words(&nodes)
            )),
            ShellLine::remark(format!(
                "numactl --cpunodebind={nodes} --localalloc COMMAND"
            )),
        ],
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::*;
    use crate::doctor::UsedDevice;
    use crate::doctor::samples::target;

    #[test]
    fn a_disk_where_nobody_may_run_is_far() {
        let found = |cpus: &str, node: u32| {
            let mut input = target(&[(0, 100)], "default", "0-1", cpus);
            let device = UsedDevice {
                node: Some(NodeId(node)),
                ..UsedDevice::default()
            };
            input.devices = [("the disk of /data".to_owned(), device)].into();
            check(&input)
        };
        let far = found("0", 1).unwrap();
        assert_eq!(
            far.message,
            "the disk of /data on node 1, and the processes may run on node 0 only"
        );
        assert_eq!(far.evidence, [fact("the disk of /data", "numa_node 1")]);
        assert!(found("0", 0).is_none());
        assert!(found("0-1", 1).is_none());
    }
}
