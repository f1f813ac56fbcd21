//! The devices that a target uses, and their nodes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use linux::{Root, device_node, proc_mounts};
use model::{DeviceKind, NodeId, Residency, Topology};

/// The disks of the directories in which the processes work (servers work in their data directory),
/// and the network devices that are up; those whose node is known.
pub(crate) fn of_target(
    root: &Root,
    topology: &Topology,
    residency: Option<&Residency>,
) -> BTreeMap<String, NodeId> {
    let Some(residency) = residency.filter(|_| topology.nodes.len() > 1) else {
        return BTreeMap::new();
    };
    let mut found: BTreeMap<String, NodeId> = up(root, topology).collect();
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
        let disks = directories.iter();
        found.extend(disks.filter_map(|(directory, pid)| disk(root, *pid, directory)));
    }
    found
}

/// The disk of a directory, as this process sees it.
fn disk(root: &Root, pid: u32, directory: &Path) -> Option<(String, NodeId)> {
    let device = proc_mounts::device_of(root, pid, directory).ok()??;
    let node = device_node::of_device_number(root, device).ok()??;
    Some((format!("the disk of {}", directory.display()), node))
}

/// Network devices that are up (kernel, Documentation/ABI/testing/sysfs-class-net, `operstate`).
fn up<'a>(root: &'a Root, topology: &'a Topology) -> impl Iterator<Item = (String, NodeId)> + 'a {
    let devices = topology.devices.iter().flatten();
    let networks = devices.filter(|device| device.kind == DeviceKind::Network);
    networks.flat_map(move |device| {
        let is_up = |name: &&String| {
            let state = root.read_optional(&format!("sys/class/net/{name}/operstate"));
            matches!(state, Ok(Some(state)) if state.word() == "up")
        };
        let names = device.names.iter().filter(is_up);
        names.filter_map(|name| Some((format!("network {name}"), device.node?)))
    })
}
