//! The node to which a device is attached: `numa_node` in its /sys directory (kernel,
//! `Documentation/ABI/testing/sysfs-bus-pci`), located as numactl does it.

use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use model::NodeId;

use crate::{Error, Root};

/// The node of the network device of this name; `None` when the firmware does not report it.
///
/// # Errors
/// When there is no such device.
pub fn of_network_device(root: &Root, name: &str) -> Result<Option<NodeId>, Error> {
    let directory = format!("sys/class/net/{name}");
    root.require(&directory)?;
    of_directory(root, &format!("{directory}/device"))
}

/// The node of the PCI device at this address, `0000:3b:00.0`; the segment may be omitted.
///
/// # Errors
/// When there is no such device.
pub fn of_pci_device(root: &Root, address: &str) -> Result<Option<NodeId>, Error> {
    let address = match address.matches(':').count() {
        1 => format!("0000:{address}"),
        _ => address.to_owned(),
    };
    let directory = format!("sys/bus/pci/devices/{address}");
    root.require(&directory)?;
    of_directory(root, &directory)
}

/// The node of a block device, by its device file, or of the one that holds a file or directory.
///
/// # Errors
/// When there is no such file, or no block device holds it.
pub fn of_file(root: &Root, path: &Path) -> Result<Option<NodeId>, Error> {
    let metadata = std::fs::metadata(path).map_err(|cause| Error::Read {
        path: path.to_owned(),
        cause,
    })?;
    let device = match metadata.file_type().is_block_device() {
        true => metadata.rdev(),
        false => metadata.dev(),
    };
    of_device_number(root, (rustix::fs::major(device), rustix::fs::minor(device)))
}

/// The node of the block device with this number (major, minor).
///
/// # Errors
/// When there is no such device: file systems without one have a number of their own.
pub fn of_device_number(root: &Root, (major, minor): (u32, u32)) -> Result<Option<NodeId>, Error> {
    of_block_device(root, &format!("sys/dev/block/{major}:{minor}"), STACKED_MAX)
}

/// Devices on devices: LVM on RAID on partitions is three.
const STACKED_MAX: usize = 8;

/// The interrupts of the block device with this number (major, minor), and of those that it is made
/// of: message-signalled ones (kernel, Documentation/ABI/testing/sysfs-bus-pci, `msi_irqs`).
///
/// # Errors
/// When there is no such device.
pub fn interrupts_of_device_number(
    root: &Root,
    (major, minor): (u32, u32),
) -> Result<BTreeSet<u32>, Error> {
    let directory = format!("sys/dev/block/{major}:{minor}");
    let read = |directory: &str| interrupts_of_directory(root, directory);
    let parts = of_disks(root, &directory, STACKED_MAX, &read)?;
    Ok(parts.into_iter().flatten().flatten().collect())
}

/// The interrupts of the PCI device at this address.
///
/// # Errors
/// When its directory cannot be listed.
pub fn interrupts_of_pci_device(root: &Root, address: &str) -> Result<BTreeSet<u32>, Error> {
    let found = interrupts_of_directory(root, &format!("sys/bus/pci/devices/{address}"))?;
    Ok(found.unwrap_or_default())
}

/// The node of a block device, by its directory: of the devices it is made of (logical volumes,
/// RAID), if they agree.
fn of_block_device(root: &Root, directory: &str, deeper: usize) -> Result<Option<NodeId>, Error> {
    let read = |directory: &str| of_directory(root, directory);
    let nodes = of_disks(root, directory, deeper, &read)?;
    let first = nodes.first().copied().flatten();
    Ok(first.filter(|_| nodes.iter().all(|node| *node == first)))
}

/// What each disk of a block device has in its directory.
fn of_disks<T>(
    root: &Root,
    directory: &str,
    deeper: usize,
    read: &dyn Fn(&str) -> Result<Option<T>, Error>,
) -> Result<Vec<Option<T>>, Error> {
    root.require(directory)?;
    let slaves = format!("{directory}/slaves");
    let parts = match deeper {
        0 => Vec::new(),
        _ => root.entries(&slaves)?.unwrap_or_default(),
    };
    let mut found = Vec::new();
    for part in &parts {
        found.extend(of_disks(
            root,
            &format!("{slaves}/{part}"),
            deeper - 1,
            read,
        )?);
    }
    if !parts.is_empty() {
        return Ok(found);
    }
    // For a partition, the disk is the directory above.
    for disk in [directory.to_owned(), format!("{directory}/..")] {
        if let Some(value) = read(&format!("{disk}/device"))? {
            return Ok(vec![Some(value)]);
        }
    }
    Ok(vec![None])
}

/// Returns the interrupts of a device or, if it has none, of the device it is attached to.
fn interrupts_of_directory(root: &Root, directory: &str) -> Result<Option<BTreeSet<u32>>, Error> {
    for levels in ["", "/..", "/../.."] {
        if let Some(names) = root.entries(&format!("{directory}{levels}/msi_irqs"))? {
            return Ok(Some(
                names.iter().filter_map(|it| it.parse().ok()).collect(),
            ));
        }
    }
    Ok(None)
}

/// Returns the node of a device or, if it has none (a virtio disk below its PCI device), of the
/// device it is attached to.
fn of_directory(root: &Root, directory: &str) -> Result<Option<NodeId>, Error> {
    for levels in ["", "/..", "/../.."] {
        if let Some(file) = root.read_optional(&format!("{directory}{levels}/numa_node"))? {
            // -1 where the firmware does not report a node.
            return Ok(file.word().parse().ok().map(NodeId));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::{
        STACKED_MAX, interrupts_of_device_number, interrupts_of_pci_device, of_block_device,
        of_file, of_network_device, of_pci_device,
    };
    use crate::Root;

    #[test]
    fn a_stack_of_devices_is_where_all_of_them_are() {
        let directory = tempfile::tempdir().unwrap();
        let disk = |path: &str, node: &str| {
            let path = directory
                .path()
                .join(format!("sys/dev/block/{path}/device"));
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join("numa_node"), node).unwrap();
        };
        disk("8:0", "1\n");
        // A volume on two RAIDs, one of which has a disk elsewhere.
        disk("253:0/slaves/md0/slaves/sda", "1\n");
        disk("253:1/slaves/md0/slaves/sda", "1\n");
        disk("253:1/slaves/md1/slaves/sdb", "0\n");
        let root = Root::at(directory.path()).unwrap();
        let node = |device: &str| {
            of_block_device(&root, &format!("sys/dev/block/{device}"), STACKED_MAX).unwrap()
        };
        assert_eq!(node("8:0"), Some(NodeId(1)));
        assert_eq!(node("253:0"), Some(NodeId(1)));
        assert_eq!(node("253:1"), None);
    }

    #[test]
    fn interrupts_are_those_of_the_disks_and_of_what_they_are_attached_to() {
        let directory = tempfile::tempdir().unwrap();
        let make = |path: &str| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "msix\n").unwrap();
        };
        make("sys/dev/block/8:0/device/msi_irqs/36");
        std::fs::create_dir_all(directory.path().join("sys/dev/block/8:0/sda1")).unwrap();
        make("sys/dev/block/253:0/slaves/sda/device/msi_irqs/36");
        make("sys/dev/block/253:0/slaves/sdb/device/msi_irqs/38");
        make("sys/dev/block/253:0/slaves/sdb/device/msi_irqs/x");
        make("sys/dev/block/253:1/size");
        make("sys/bus/pci/devices/0000:3b:00.0/msi_irqs/40");
        let root = Root::at(directory.path()).unwrap();
        let of = |minor| interrupts_of_device_number(&root, minor).unwrap();
        assert_eq!(of((8, 0)), [36].into());
        assert_eq!(of((253, 0)), [36, 38].into());
        assert!(of((253, 1)).is_empty());
        interrupts_of_device_number(&root, (9, 9)).unwrap_err();
        let of_pci = interrupts_of_pci_device(&root, "0000:3b:00.0").unwrap();
        assert_eq!(of_pci, [40].into());
    }

    #[test]
    fn the_node_of_a_device_is_that_of_what_it_is_attached_to() {
        let directory = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("sys/class/net/eth0/device/numa_node", "3\n");
        write("sys/class/net/lo/address", "");
        write("sys/bus/pci/devices/0000:3b:00.0/numa_node", "-1\n");
        let root = Root::at(directory.path()).unwrap();
        assert_eq!(of_network_device(&root, "eth0").unwrap(), Some(NodeId(3)));
        assert_eq!(of_network_device(&root, "lo").unwrap(), None);
        assert_eq!(of_pci_device(&root, "3b:00.0").unwrap(), None);
        let error = of_network_device(&root, "eth9").unwrap_err().to_string();
        assert!(error.contains("sys/class/net/eth9"), "{error}");
        let error = of_file(&root, "/proc/self/stat".as_ref()).unwrap_err();
        assert!(error.to_string().contains("sys/dev/block/0:"), "{error}");
    }
}
