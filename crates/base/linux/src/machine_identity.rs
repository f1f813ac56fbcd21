//! What the firmware and the processor call themselves: what tells machines apart that should be
//! equal. No serial number: those differ always.

use std::collections::BTreeMap;

use crate::text_file::is_showable;
use crate::{Error, Root, proc_cpuinfo};

/// Files of `/sys/class/dmi/id` that every user may read (kernel, `drivers/firmware/dmi-id.c`).
const DMI: [&str; 6] = [
    "sys_vendor",
    "product_name",
    "board_name",
    "bios_vendor",
    "bios_version",
    "bios_date",
];
/// Keys of /proc/cpuinfo.
const CPUINFO: [&str; 2] = ["microcode", "stepping"];

/// Reads these names, by the name of the kernel's file or key; missing where nothing tells.
///
/// # Errors
/// When a file is not text.
pub fn read(root: &Root) -> Result<BTreeMap<String, String>, Error> {
    let mut identity = BTreeMap::new();
    let mut add = |name: &str, value: &str| {
        if !value.is_empty() && is_showable(value) {
            identity.insert(name.to_owned(), value.to_owned());
        }
    };
    for name in DMI {
        if let Some(file) = root.read_optional(&format!("sys/class/dmi/id/{name}"))? {
            add(name, file.text().trim());
        }
    }
    let cpuinfo = proc_cpuinfo::start(root)?.unwrap_or_default();
    for name in CPUINFO {
        if let Some(value) = cpuinfo.get(name) {
            add(name, value);
        }
    }
    Ok(identity)
}

/// Reads the name and the kernel of a captured machine, where its files have them.
///
/// # Errors
/// When a file is not text.
pub fn host_and_kernel(root: &Root) -> Result<(Option<String>, Option<String>), Error> {
    let read = |path: &str| {
        let file = root.read_optional(path)?;
        let text = file.map(|file| file.text().trim().to_owned());
        Ok(text.filter(|text| !text.is_empty() && is_showable(text)))
    };
    Ok((
        read("proc/sys/kernel/hostname")?,
        read("proc/sys/kernel/osrelease")?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_what_is_missing_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let set = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        set("sys/class/dmi/id/bios_version", "1.7.2\n");
        set("sys/class/dmi/id/product_name", "\u{1b}[2J\n");
        set("sys/class/dmi/id/product_serial", "secret\n");
        set("proc/cpuinfo", "processor\t: 0\nmicrocode\t: 0xd0003a5\n");
        set("proc/sys/kernel/osrelease", "6.1.0\n");
        let root = Root::at(folder.path()).unwrap();
        let expected = [("bios_version", "1.7.2"), ("microcode", "0xd0003a5")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(read(&root).unwrap(), BTreeMap::from(expected));
        let (host, kernel) = host_and_kernel(&root).unwrap();
        assert_eq!((host, kernel.as_deref()), (None, Some("6.1.0")));
    }
}
