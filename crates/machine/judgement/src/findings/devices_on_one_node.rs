//! All storage, all networks or all accelerators on one of several nodes.

use model::{DeviceKind, NodeSet, Severity};

use super::row::{Check, Row};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, commands, fact};

pub(super) const ROW: Row = Row {
    id: "devices-on-one-node",
    severity: Severity::Info,
    about: "all devices of a kind are attached to one node",
    cost: "up to 20 % where the network decides, more than the placement of memory",
    cost_source: "measurements published by plantegg",
    checks: &[Check::Doctor(sight::devices, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let topology = &input.topology;
    if topology.cpu_nodes().len() < 2 {
        return None;
    }
    let kinds = [
        (DeviceKind::Storage, "storage"),
        (DeviceKind::Network, "network"),
        (DeviceKind::Gpu, "accelerator"),
    ];
    let mut evidence = Vec::new();
    let mut parts = Vec::new();
    for (kind, word) in kinds {
        let devices = topology
            .devices
            .iter()
            .flatten()
            .filter(|device| device.kind == kind);
        let known: Vec<_> = devices.filter(|device| device.node.is_some()).collect();
        let nodes: NodeSet = known.iter().filter_map(|device| device.node).collect();
        if let (1, Some(node)) = (nodes.len(), nodes.first()) {
            parts.push(format!(
                "all {word} devices ({}) on node {node}",
                known.len()
            ));
            evidence.extend(known.iter().map(|device| {
                fact(
                    format!("/sys/bus/pci/devices/{}/numa_node", device.address),
                    node,
                )
            }));
        }
    }
    (!parts.is_empty()).then(|| Found {
        message: parts.join("; "),
        evidence,
        fix: commands(&[
            "# run what serves these devices (listeners, log writers, interrupts) near them:",
            "# numactl --cpunodebind=NODE COMMAND; interrupts: /proc/irq/N/smp_affinity_list",
        ]),
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use model::{Device, NodeId};

    use super::*;
    use crate::doctor::samples::machine;

    #[test]
    fn devices_of_a_kind_on_one_node_are_found() {
        let mut it = machine(&[&[10, 21], &[21, 10]]);
        let device = |node| Device {
            address: "0000:3b:00.0".to_owned(),
            kind: DeviceKind::Network,
            names: Vec::new(),
            node: Some(NodeId(node)),
        };
        it.topology.devices = Some(vec![device(1), device(1)]);
        let message = check(&it).unwrap().message;
        assert_eq!(message, "all network devices (2) on node 1");
        it.topology.devices = Some(vec![device(1), device(0)]);
        assert!(check(&it).is_none());
    }
}
