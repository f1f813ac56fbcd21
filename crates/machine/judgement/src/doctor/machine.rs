//! The machine itself: NUMA switched off or hidden, full nodes, distances, devices.

use linux::node_numastat::Numastat;
use model::{ByteSize, DeviceKind, NodeSet};

use super::input::{DoctorInput, Found, commands, fact};

/// A node with less free memory than this share of it is nearly full.
const FULL_PERCENT: u64 = 2;
/// A node with more free memory than this share could have been used.
const PLENTY_PERCENT: u64 = 20;
/// Fewer pages than this are not worth a finding: 16 MiB of 4 KiB.
const SPILLED_PAGES: u64 = 4096;
/// Nor is a smaller share of what was requested of a node.
const SPILLED_PERCENT: u64 = 1;
/// Distance of a node to itself, and what unreachable means (ACPI 6.5, 5.2.17).
const LOCAL: u32 = 10;
const UNREACHABLE: u32 = 255;
/// The files with the distances.
const DISTANCES: &str = "/sys/devices/system/node/node*/distance";

/// `numa=off`.
pub(super) fn numa_off(input: &DoctorInput) -> Option<Found> {
    let settings = &input.topology.settings;
    (settings.numa_off == Some(true)).then(|| Found {
        message: "the kernel was started with numa=off and knows one node".to_owned(),
        evidence: vec![fact("/proc/cmdline", "numa=off")],
        fix: commands(&[
            "# take numa=off out of GRUB_CMDLINE_LINUX, then",
            "sed -i 's/ *numa=off//' /etc/default/grub",
            "grub2-mkconfig -o /boot/grub2/grub.cfg || update-grub",
            "reboot",
        ]),
    })
}

/// Several packages in one node.
pub(super) fn firmware_interleaving(input: &DoctorInput) -> Option<Found> {
    let topology = &input.topology;
    let packages = topology.packages.filter(|packages| *packages > 1)?;
    let is_hidden = topology.nodes.len() == 1 && topology.settings.numa_off != Some(true);
    is_hidden.then(|| Found {
        message: format!("{packages} packages share one node"),
        evidence: vec![
            fact(
                "/sys/devices/system/cpu/cpu*/topology/physical_package_id",
                packages,
            ),
            fact("/sys/devices/system/node", "one node"),
        ],
        fix: commands(&[
            "# in the firmware's setup: switch node interleaving off (Dell, HPE: \"Node \
             Interleaving: Disabled\"; AMD: NPS1 or more instead of NPS0), then start again",
        ]),
    })
}

/// One node nearly out of memory, another with plenty.
pub(super) fn node_nearly_full(input: &DoctorInput) -> Option<Found> {
    let nodes = input.topology.nodes.iter();
    let known: Vec<(model::NodeId, u64, u64)> = nodes
        .filter_map(|node| Some((node.id, node.free_bytes?, node.memory_bytes?)))
        .filter(|(_, _, all)| *all > 0)
        .collect();
    let full = known
        .iter()
        .find(|(_, free, all)| *free < all / 100 * FULL_PERCENT)?;
    let other = known
        .iter()
        .find(|(_, free, all)| *free > all / 100 * PLENTY_PERCENT)?;
    let file = |node| format!("/sys/devices/system/node/node{node}/meminfo");
    let (full_id, other_id) = (full.0, other.0);
    Some(Found {
        message: format!(
            "node {full_id} has {} free of {}, node {other_id} has {} free",
            ByteSize(full.1),
            ByteSize(full.2),
            ByteSize(other.1)
        ),
        evidence: vec![
            fact(file(full_id), format!("MemFree {}", ByteSize(full.1))),
            fact(file(other_id), format!("MemFree {}", ByteSize(other.1))),
        ],
        fix: vec![
            format!("# who has memory on node {full_id}; file cache is given up when asked for:"),
            format!(
                "grep -E 'FilePages|Shmem|AnonPages|HugePages' {}",
                file(full_id)
            ),
            "# start what is bound there with --preferred or --interleave instead of --membind"
                .to_owned(),
        ],
    })
}

/// Memory that was requested of one node and came from another.
pub(super) fn allocations_elsewhere(input: &DoctorInput) -> Option<Found> {
    let spilled = |counters: &Numastat| {
        let asked = counters.hit.saturating_add(counters.foreign);
        counters.foreign >= SPILLED_PAGES && counters.foreign > asked / 100 * SPILLED_PERCENT
    };
    let worst = input
        .allocations
        .iter()
        .max_by_key(|(_, counters)| counters.foreign);
    let (node, counters) = worst.filter(|(_, counters)| spilled(counters))?;
    let file = |node| format!("/sys/devices/system/node/node{node}/numastat");
    let takers = input.allocations.iter().filter(|(_, of)| of.miss > 0);
    let mut evidence = vec![fact(
        file(*node),
        format!("numa_foreign {}", counters.foreign),
    )];
    evidence.extend(takers.map(|(node, of)| fact(file(*node), format!("numa_miss {}", of.miss))));
    Some(Found {
        message: format!(
            "since boot, {} pages that were asked of node {node} came from other nodes, beside {} \
             that it gave itself",
            counters.foreign, counters.hit
        ),
        evidence,
        fix: commands(&[
            "# the node was full then; whether it still happens:",
            "grep -H numa_foreign /sys/devices/system/node/node*/numastat; sleep 60; \
             grep -H numa_foreign /sys/devices/system/node/node*/numastat",
            "# if so, bind less there, or ask for it with --interleave instead of --preferred",
        ]),
    })
}

/// Pairs of different nodes, by index, with the distances there and back. Nothing accesses memory
/// from a node without CPUs: its row (255, as a rule) means nothing, so there is no way back from
/// it.
fn pairs(input: &DoctorInput) -> Vec<(usize, usize, u32, Option<u32>)> {
    let rows = input.topology.distances.as_deref().unwrap_or_default();
    let nodes = &input.topology.nodes;
    let has_cpus = |row: usize| nodes.get(row).is_some_and(|node| !node.cpus.is_empty());
    let cell = |row: usize, column: usize| {
        let cell = *rows.get(row)?.get(column)?;
        cell.filter(|_| has_cpus(row))
    };
    let mut pairs = Vec::new();
    for row in 0..rows.len() {
        for column in row + 1..rows.len() {
            match (cell(row, column), cell(column, row)) {
                (Some(there), back) => pairs.push((row, column, there, back)),
                (None, Some(there)) => pairs.push((column, row, there, None)),
                (None, None) => {}
            }
        }
    }
    pairs
}

fn measure_fix() -> Vec<String> {
    commands(&["# what is true is measured by:", "numalab latency"])
}

/// Distances that ACPI rules out.
pub(super) fn distances_impossible(input: &DoctorInput) -> Option<Found> {
    let nodes = &input.topology.nodes;
    let rows = input.topology.distances.as_ref()?;
    let own = rows.iter().enumerate().find_map(|(index, row)| {
        let own = (*row.get(index)?)?;
        (own != LOCAL).then(|| format!("node {} is {own} from itself", nodes[index].id))
    });
    let between = pairs(input)
        .into_iter()
        .find_map(|(one, other, there, back)| {
            let impossible = |distance| distance <= LOCAL || distance >= UNREACHABLE;
            (impossible(there) || back.is_some_and(impossible)).then(|| {
                let (one, other) = (nodes[one].id, nodes[other].id);
                let back = back.map_or(String::new(), |back| format!(", and back {back}"));
                format!("node {one} to node {other} is {there}{back}")
            })
        });
    let what = own.or(between)?;
    Some(Found {
        message: format!("the firmware says {what}"),
        evidence: vec![fact(DISTANCES, &what)],
        fix: measure_fix(),
    })
}

/// The distance there differs from the distance back.
pub(super) fn distances_asymmetric(input: &DoctorInput) -> Option<Found> {
    let pairs = pairs(input).into_iter();
    let mut pairs = pairs.filter_map(|(one, other, there, back)| Some((one, other, there, back?)));
    let (one, other, there, back) = pairs.find(|(_, _, there, back)| there != back)?;
    let (one, other) = (input.topology.nodes[one].id, input.topology.nodes[other].id);
    let what = format!("node {one} to node {other} is {there}, and back {back}");
    Some(Found {
        message: format!("the firmware says {what}"),
        evidence: vec![fact(DISTANCES, &what)],
        fix: measure_fix(),
    })
}

/// The same distance between all nodes.
pub(super) fn distances_flat(input: &DoctorInput) -> Option<Found> {
    let pairs = pairs(input);
    let nodes = input.topology.nodes.len();
    let are_known = pairs.len() == nodes * nodes.saturating_sub(1) / 2;
    // Two nodes have nothing to compare.
    let (_, _, distance, _) = *pairs.first().filter(|_| are_known && pairs.len() > 1)?;
    let is_flat = pairs
        .iter()
        .all(|(_, _, there, back)| *there == distance && back.is_none_or(|it| it == distance));
    is_flat.then(|| Found {
        message: format!(
            "the firmware says {distance} between any two of {} nodes",
            input.topology.nodes.len()
        ),
        evidence: vec![fact(DISTANCES, distance)],
        fix: measure_fix(),
    })
}

/// All storage, all networks or all accelerators on one of several nodes.
pub(super) fn devices_on_one_node(input: &DoctorInput) -> Option<Found> {
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
            "# have what serves these devices (listeners, log writers, interrupts) run near them:",
            "# numactl --cpunodebind=NODE COMMAND; interrupts: /proc/irq/N/smp_affinity_list",
        ]),
    })
}

#[cfg(test)]
mod tests {
    use model::{CpuSet, Device, Node, NodeId, Topology};

    use super::*;

    /// A row in which 0 stands for unknown.
    fn known(row: &&[u32]) -> Vec<Option<u32>> {
        let known = |distance: &u32| Some(*distance).filter(|distance| *distance > 0);
        row.iter().map(known).collect()
    }

    fn input(distances: &[&[u32]]) -> DoctorInput {
        let node = |id: usize| Node {
            id: NodeId(id as u32),
            cpus: id.to_string().parse().unwrap(),
            memory_bytes: Some(100 << 30),
            free_bytes: Some(50 << 30),
            ..Node::default()
        };
        let topology = Topology {
            nodes: (0..distances.len()).map(node).collect(),
            distances: Some(distances.iter().map(known).collect()),
            ..Topology::default()
        };
        DoctorInput {
            topology,
            ..DoctorInput::default()
        }
    }

    #[test]
    fn memory_that_came_from_elsewhere_is_found() {
        let check = |hit, foreign, expected: bool| {
            let mut it = input(&[&[10, 21], &[21, 10]]);
            let counters = Numastat {
                hit,
                miss: 0,
                foreign,
            };
            let other = Numastat {
                hit: 1,
                miss: foreign,
                foreign: 0,
            };
            it.allocations = [(NodeId(0), counters), (NodeId(1), other)].into();
            let found = allocations_elsewhere(&it);
            assert_eq!(found.is_some(), expected, "{hit} {foreign}");
            assert!(found.is_none_or(|found| found.evidence.len() == 2));
        };
        check(100_000, 50_000, true);
        check(100_000_000, 50_000, false);
        check(100, 50, false);
        check(100_000, 0, false);
    }

    #[test]
    fn numa_that_is_off_is_told_from_numa_that_is_hidden() {
        let mut it = input(&[&[10]]);
        it.topology.packages = Some(1);
        assert!(numa_off(&it).is_none() && firmware_interleaving(&it).is_none());
        it.topology.packages = Some(2);
        assert!(firmware_interleaving(&it).is_some());
        it.topology.settings.numa_off = Some(true);
        assert!(numa_off(&it).is_some() && firmware_interleaving(&it).is_none());
        let mut two = input(&[&[10, 21], &[21, 10]]);
        two.topology.packages = Some(2);
        assert!(firmware_interleaving(&two).is_none());
    }

    #[test]
    fn a_full_node_beside_an_empty_one_is_found() {
        let mut it = input(&[&[10, 21], &[21, 10]]);
        assert!(node_nearly_full(&it).is_none());
        it.topology.nodes[0].free_bytes = Some(1 << 30);
        assert!(
            node_nearly_full(&it)
                .unwrap()
                .message
                .starts_with("node 0 has 1 GiB free")
        );
        it.topology.nodes[1].free_bytes = Some(1 << 30);
        assert!(node_nearly_full(&it).is_none());
    }

    #[test]
    fn distances_are_judged() {
        let check = |rows: &[&[u32]], expected: [bool; 3]| {
            let it = input(rows);
            let found = [
                distances_impossible(&it).is_some(),
                distances_asymmetric(&it).is_some(),
                distances_flat(&it).is_some(),
            ];
            assert_eq!(found, expected, "{rows:?}");
        };
        check(&[&[10, 21], &[21, 10]], [false; 3]);
        check(&[&[10, 21], &[20, 10]], [false, true, false]);
        check(&[&[10, 255], &[255, 10]], [true, false, false]);
        check(&[&[10, 9], &[9, 10]], [true, false, false]);
        check(&[&[20, 21], &[21, 10]], [true, false, false]);
        check(
            &[&[10, 21, 21], &[21, 10, 21], &[21, 21, 10]],
            [false, false, true],
        );
        check(&[&[10, 21, 31], &[21, 10, 21], &[31, 21, 10]], [false; 3]);
        check(&[&[10, 21], &[]], [false; 3]);
        check(
            &[&[10, 21, 0], &[20, 10, 0], &[0, 0, 0]],
            [false, true, false],
        );
        check(&[&[10, 21, 21], &[21, 10, 0], &[21, 0, 10]], [false; 3]);
    }

    #[test]
    fn what_the_row_of_a_node_without_cpus_says_is_not_judged() {
        let check = |rows: &[&[u32]], expected: [bool; 3]| {
            let mut it = input(rows);
            it.topology.nodes[1].cpus = CpuSet::new();
            let found = [
                distances_impossible(&it).is_some(),
                distances_asymmetric(&it).is_some(),
                distances_flat(&it).is_some(),
            ];
            assert_eq!(found, expected, "{rows:?}");
        };
        check(&[&[10, 50], &[255, 10]], [false; 3]);
        // The way to such a node is judged.
        check(&[&[10, 255], &[20, 10]], [true, false, false]);
    }

    #[test]
    fn devices_of_a_kind_on_one_node_are_found() {
        let mut it = input(&[&[10, 21], &[21, 10]]);
        let device = |node| Device {
            address: "0000:3b:00.0".to_owned(),
            kind: DeviceKind::Network,
            names: Vec::new(),
            node: Some(NodeId(node)),
        };
        it.topology.devices = Some(vec![device(1), device(1)]);
        let message = devices_on_one_node(&it).unwrap().message;
        assert_eq!(message, "all network devices (2) on node 1");
        it.topology.devices = Some(vec![device(1), device(0)]);
        assert!(devices_on_one_node(&it).is_none());
    }
}
