//! `/sys/bus/pci/devices`: devices whose node matters to a database (kernel,
//! `Documentation/ABI/testing/sysfs-bus-pci`, `numa_node`).

use model::{Device, DeviceKind, NodeId};

use crate::text_file::is_showable;
use crate::{Error, Root, TextFile};

const DIRECTORY: &str = "sys/bus/pci/devices";

/// Subdirectories of a device that contain the name by which users know it.
const NAME_DIRECTORIES: [&str; 5] = ["net", "nvme", "block", "infiniband", "drm"];

/// The network, storage and compute devices in order of address, and the number of devices whose
/// class is unknown; `None` when the kernel lists no PCI devices at all.
///
/// # Errors
/// When a device's file is malformed.
pub fn devices(root: &Root) -> Result<Option<(Vec<Device>, usize)>, Error> {
    let Some(addresses) = root.entries(DIRECTORY)? else {
        return Ok(None);
    };
    let mut devices = Vec::new();
    let mut without_class = 0;
    for address in addresses.iter().filter(|address| is_showable(address)) {
        let directory = format!("{DIRECTORY}/{address}");
        let Some(class) = root.read_optional(&format!("{directory}/class"))? else {
            without_class += 1;
            continue;
        };
        let Some(kind) = kind(parse_class(&class)?) else {
            continue;
        };
        let node = root.read_optional(&format!("{directory}/numa_node"))?;
        let node = node
            .map(|file| file.number_or_unknown())
            .transpose()?
            .flatten();
        devices.push(Device {
            address: address.clone(),
            kind,
            names: names(root, &directory)?,
            node: node.map(NodeId),
        });
    }
    Ok(Some((devices, without_class)))
}

/// Parses a class code, `0x020000`: base class, subclass, programming interface, one byte each.
fn parse_class(file: &TextFile) -> Result<u32, Error> {
    let code = file
        .word()
        .strip_prefix("0x")
        .and_then(|code| u32::from_str_radix(code, 16).ok());
    code.ok_or_else(|| file.malformed(1, "a class code such as 0x020000", file.word()))
}

fn kind(class: u32) -> Option<DeviceKind> {
    match class >> 16 {
        0x01 => Some(DeviceKind::Storage),
        0x02 => Some(DeviceKind::Network),
        0x03 | 0x12 => Some(DeviceKind::Gpu),
        _ => None,
    }
}

/// `eth0` of `net/eth0`, `nvme0` of `nvme/nvme0`, `vda` of `virtio1/block/vda`.
fn names(root: &Root, directory: &str) -> Result<Vec<String>, Error> {
    let entries = root.entries(directory)?.unwrap_or_default();
    let mut names = Vec::new();
    for entry in &entries {
        if NAME_DIRECTORIES.contains(&entry.as_str()) {
            names.extend(
                root.entries(&format!("{directory}/{entry}"))?
                    .unwrap_or_default(),
            );
        } else if entry.starts_with("virtio") {
            for name in NAME_DIRECTORIES {
                let directory = format!("{directory}/{entry}/{name}");
                names.extend(root.entries(&directory)?.unwrap_or_default());
            }
        }
    }
    // The drm directory of a card also has connectors (`card0-DP-1`) and renderers (`renderD128`).
    let is_part_of_card = |name: &str| {
        name.starts_with("renderD") || (name.starts_with("card") && name.contains('-'))
    };
    names.retain(|name| is_showable(name) && !is_part_of_card(name));
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_says_what_a_device_is_for() {
        let check = |text: &str, expected| {
            let class = parse_class(&TextFile::new("/class", text)).unwrap();
            assert_eq!(kind(class), expected, "{text}");
        };
        check("0x010802\n", Some(DeviceKind::Storage));
        check("0x020000\n", Some(DeviceKind::Network));
        check("0x030200\n", Some(DeviceKind::Gpu));
        check("0x120000\n", Some(DeviceKind::Gpu));
        check("0x060400\n", None);
        check("0xffff00\n", None);
    }

    #[test]
    fn a_malformed_class_is_named() {
        for text in ["", "020000", "0x", "0xzz", "0x123456789"] {
            let error = parse_class(&TextFile::new("/class", text)).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("/class, line 1: expected a class code such as 0x020000, found {text:?}")
            );
        }
    }
}
