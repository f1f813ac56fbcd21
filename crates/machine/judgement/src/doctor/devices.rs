//! The devices that a target uses, and their nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use linux::proc_interrupts::Interrupts;
use linux::{Root, device_node, proc_interrupts, proc_mounts};
use model::{CpuSet, Device, DeviceKind, NodeId, Residency, Topology};

/// A device that a target uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsedDevice {
    /// Its node; `None` where firmware does not say so.
    pub node: Option<NodeId>,
    /// Its interrupts since boot, by the node to whose CPUs the kernel sends them now; those that
    /// go to several nodes, by the CPUs that handled them.
    pub interrupts: BTreeMap<NodeId, u64>,
    /// Their numbers.
    pub irqs: BTreeSet<u32>,
}

/// The disks of the directories in which the processes work (servers work in their data directory),
/// and the network devices that are up.
pub(crate) fn of_target(
    root: &Root,
    topology: &Topology,
    residency: Option<&Residency>,
) -> BTreeMap<String, UsedDevice> {
    let Some(residency) = residency.filter(|_| topology.nodes.len() > 1) else {
        return BTreeMap::new();
    };
    let handled = proc_interrupts::read(root).unwrap_or_default();
    let device = |node, irqs: BTreeSet<u32>| UsedDevice {
        node,
        interrupts: by_node(root, topology, &handled, &irqs),
        irqs,
    };
    let networks = up(root, topology);
    let mut found: BTreeMap<String, UsedDevice> = networks
        .map(|(name, it)| {
            let irqs = device_node::interrupts_of_pci_device(root, &it.address);
            (name, device(it.node, irqs.unwrap_or_default()))
        })
        .collect();
    // A captured machine has no files whose disk could be asked for.
    if root.is_live() {
        let pids = residency.processes.iter().map(|process| process.pid);
        let works_in = |pid| Some((linux::process::working_directory(pid).ok()?, pid));
        // The root directory is that of whoever became a daemon.
        let works_in = pids
            .filter_map(works_in)
            .filter(|(it, _)| it != Path::new("/"));
        // A thousand sessions work in the same one.
        let directories: BTreeMap<PathBuf, u32> = works_in.collect();
        for (directory, pid) in directories {
            // As this process sees it.
            let Ok(Some(disk)) = proc_mounts::device_of(root, pid, &directory) else {
                continue;
            };
            let node = device_node::of_device_number(root, disk).ok().flatten();
            let irqs = device_node::interrupts_of_device_number(root, disk).unwrap_or_default();
            let name = format!("the disk of {}", directory.display());
            found.insert(name, device(node, irqs));
        }
    }
    found
}

/// Interrupts by the node to which the kernel sends them.
fn by_node(
    root: &Root,
    topology: &Topology,
    handled: &Interrupts,
    irqs: &BTreeSet<u32>,
) -> BTreeMap<NodeId, u64> {
    let node_of = |cpus: &CpuSet| {
        let mut nodes = topology.nodes.iter();
        nodes
            .find(|node| cpus.difference(&node.cpus).is_empty())
            .map(|it| it.id)
    };
    let mut sums: BTreeMap<NodeId, u64> = BTreeMap::new();
    for (irq, counts) in handled.iter().filter(|(irq, _)| irqs.contains(irq)) {
        let affinity = proc_interrupts::affinity(root, *irq).ok().flatten();
        let goes_to = affinity.and_then(|cpus| node_of(&cpus));
        for (cpu, count) in counts {
            let node = goes_to.or_else(|| node_of(&[*cpu].into_iter().collect()));
            let sum = node.map(|node| sums.entry(node).or_default());
            sum.into_iter()
                .for_each(|sum| *sum = sum.saturating_add(*count));
        }
    }
    sums
}

/// Network devices that are up (kernel, Documentation/ABI/testing/sysfs-class-net, `operstate`).
fn up<'a>(
    root: &'a Root,
    topology: &'a Topology,
) -> impl Iterator<Item = (String, &'a Device)> + 'a {
    let devices = topology.devices.iter().flatten();
    let networks = devices.filter(|device| device.kind == DeviceKind::Network);
    networks.flat_map(move |device| {
        let is_up = |name: &&String| {
            let state = root.read_optional(&format!("sys/class/net/{name}/operstate"));
            matches!(state, Ok(Some(state)) if state.word() == "up")
        };
        let names = device.names.iter().filter(is_up);
        names.map(move |name| (format!("network {name}"), device))
    })
}

#[cfg(test)]
mod tests {
    use model::Node;

    use super::*;

    #[test]
    fn interrupts_are_counted_where_the_kernel_sends_them_now() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let lines = "     CPU0  CPU1  CPU2  CPU3\n 36: 5 0 0 7 PCI nvme\n 37: 1 2 3 4 PCI nvme\n\
                     38: 9 9 9 9 PCI eth0\n";
        write("proc/interrupts", lines);
        write("proc/irq/36/effective_affinity_list", "2\n");
        write("proc/irq/37/effective_affinity_list", "0-3\n");
        write("proc/irq/38/effective_affinity_list", "0\n");
        write("sys/class/net/eth0/operstate", "up\n");
        write("sys/bus/pci/devices/0000:3b:00.0/msi_irqs/38", "msix\n");
        let root = Root::at(folder.path()).unwrap();
        let node = |id: u32, cpus: &str| Node {
            id: NodeId(id),
            cpus: cpus.parse().unwrap(),
            ..Node::default()
        };
        let topology = Topology {
            nodes: vec![node(0, "0-1"), node(1, "2-3")],
            devices: Some(vec![Device {
                address: "0000:3b:00.0".to_owned(),
                kind: DeviceKind::Network,
                names: vec!["eth0".to_owned(), "eth1".to_owned()],
                node: Some(NodeId(1)),
            }]),
            ..Topology::default()
        };
        let handled = proc_interrupts::read(&root).unwrap();
        let sums = by_node(&root, &topology, &handled, &[36, 37].into());
        assert_eq!(sums, [(NodeId(0), 3), (NodeId(1), 12 + 7)].into());
        let used = of_target(&root, &topology, Some(&Residency::default()));
        let expected = UsedDevice {
            node: Some(NodeId(1)),
            interrupts: [(NodeId(0), 36)].into(),
            irqs: [38].into(),
        };
        assert_eq!(used, [("network eth0".to_owned(), expected)].into());
    }
}
