//! Several packages in one node.

use std::collections::BTreeSet;

use model::{NodeId, NodeSet, Severity, counted};

use super::row::{Check, Row};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, commands, fact};
use crate::hops::{figures, packages_by_node};
use crate::inputs::LatencyInput;

pub(super) const ROW: Row = Row {
    id: "firmware-interleaving",
    severity: Severity::Warning,
    about: "one node has the CPUs of several packages: the firmware interleaves memory (SUMA)",
    cost: "jobs took 12 to 15 % longer than with NUMA and huge pages; writes 156 against 97 ns",
    cost_source: "Closson, \"The NUMA Angle\" (Parts V and VII), 2007",
    checks: &[
        Check::Doctor(sight::packages, of_machine),
        Check::Latency(of_latencies),
    ],
};

fn of_machine(input: &DoctorInput) -> Option<Found> {
    // A kernel without NUMA says nothing of nodes.
    if input.topology.node_is_implied {
        return None;
    }
    let packages = packages_by_node(&input.topology);
    let evidence = several(&packages).map(|(node, count)| {
        let cpus = format!("/sys/devices/system/node/node{node}/cpulist");
        let source = format!("{cpus}, /sys/devices/system/cpu/cpu*/topology/physical_package_id");
        fact(source, counted(count, "package"))
    });
    let is_virtual = input.topology.hypervisor.is_some();
    let fix = match is_virtual {
        true => {
            "# in the hypervisor, give the virtual machine the nodes of its host (libvirt: <numa> \
             and <numatune>; VMware: vNUMA), or one socket if it fits a node of the host; then \
             start it again"
        }
        false => {
            "# in the firmware setup, disable node interleaving (Dell, HPE: \"Node Interleaving: \
             Disabled\"; AMD: NPS1 or more instead of NPS0), then reboot"
        }
    };
    Some(Found {
        evidence: evidence.collect(),
        fix: commands(&[fix]),
        ..Found::that(check(&packages, is_virtual)?)
    })
}

fn of_latencies(input: &LatencyInput<'_>) -> Vec<Found> {
    check(input.packages, false)
        .map(Found::that)
        .into_iter()
        .collect()
}

/// The nodes with several packages.
fn several(packages: &[(NodeId, usize)]) -> impl Iterator<Item = (NodeId, usize)> + Clone {
    packages.iter().copied().filter(|(_, count)| *count > 1)
}

/// Of the sockets of a virtual machine nothing follows for its firmware: where its memory lies, its
/// host decides.
fn check(packages: &[(NodeId, usize)], is_virtual: bool) -> Option<String> {
    let nodes: NodeSet = several(packages).map(|(node, _)| node).collect();
    let counts: BTreeSet<usize> = several(packages).map(|(_, count)| count).collect();
    let (least, most) = (counts.first()?, counts.last()?);
    let has = if nodes.len() == 1 { "has" } else { "have" };
    let count = match least == most {
        true => format!("{most} packages"),
        false => format!("{least} to {most} packages"),
    };
    let cause = match is_virtual {
        true => {
            "the virtual machine has several sockets in a node, so the kernel cannot know which \
             memory is near"
        }
        false => {
            "the firmware interleaves their memory (node interleaving in its setup), so no \
             placement there can be local"
        }
    };
    Some(format!(
        "{} {has} the CPUs of {count}: {cause}",
        figures::nodes(&nodes)
    ))
}

#[cfg(test)]
mod tests {
    use model::{Core, NodeMatrix};

    use super::*;
    use crate::doctor::samples::machine;

    #[test]
    fn numa_that_is_hidden_is_told_from_numa_that_is_off() {
        let on = |node: u32, package: u32| Core {
            node: Some(NodeId(node)),
            package: Some(package),
            ..Core::default()
        };
        let mut it = machine(&[&[10]]);
        it.topology.core_list = vec![on(0, 0), on(0, 0)];
        assert!(of_machine(&it).is_none());
        it.topology.core_list = vec![on(0, 0), on(0, 1)];
        let found = of_machine(&it).unwrap();
        assert!(found.message.contains("2 packages"), "{found:?}");
        let (matrix, packages) = (NodeMatrix::default(), packages_by_node(&it.topology));
        assert_eq!(packages, [(NodeId(0), 2)]);
        let of_latencies = of_latencies(&LatencyInput::new(&matrix, None, &packages, &[]));
        assert_eq!(of_latencies[0].message, found.message);
        it.topology.hypervisor = Some("KVMKVMKVM".to_owned());
        let found = of_machine(&it).unwrap();
        assert!(
            found
                .message
                .contains("the virtual machine has several sockets"),
            "{found:?}"
        );
        assert!(!format!("{found:?}").contains("firmware"), "{found:?}");
        it.topology.hypervisor = None;
        it.topology.core_list[1].package = None;
        assert!(of_machine(&it).is_none());
        it.topology.core_list[1].package = Some(1);
        it.topology.settings.numa_off = Some(true);
        assert!(of_machine(&it).is_none());
        let mut two = machine(&[&[10, 21], &[21, 10]]);
        two.topology.core_list = vec![on(0, 0), on(1, 1)];
        assert!(of_machine(&two).is_none());
        two.topology.core_list.push(on(1, 2));
        let message = of_machine(&two).unwrap().message;
        assert!(message.starts_with("node 1 has the CPUs of 2 packages"));
    }
}
