//! `/sys/firmware/acpi/tables`: the tables of the firmware as the kernel has them (kernel,
//! `Documentation/ABI/testing/sysfs-firmware-acpi`). Only root may read them.

use std::io::ErrorKind;

use crate::{Error, Root};

/// Reads the first table with this signature; `None` where there is none, as on a machine whose
/// firmware is a device tree.
///
/// # Errors
/// When it may not be read, or is larger than any table.
pub fn read(root: &Root, signature: &str) -> Result<Option<Vec<u8>>, Error> {
    match root.read_bounded(&format!("sys/firmware/acpi/tables/{signature}")) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Error::Read { cause, .. }) if cause.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether there is a table with this signature. Everyone may see that.
///
/// # Errors
/// When the tables cannot be listed.
pub fn exists(root: &Root, signature: &str) -> Result<bool, Error> {
    let names = root.entries("sys/firmware/acpi/tables")?;
    let mut names = names.unwrap_or_default().into_iter();
    Ok(names.any(|name| name == signature))
}

/// Whether the running kernel takes tables from its initial RAM disk (`CONFIG_ACPI_TABLE_UPGRADE`,
/// called `CONFIG_ACPI_INITRD_TABLE_OVERRIDE` before 4.7), by the configuration that distributions
/// leave in /boot; `None` where there is none.
///
/// # Errors
/// When a file is malformed.
pub fn can_upgrade(root: &Root) -> Result<Option<bool>, Error> {
    let Some(release) = root.read_optional("proc/sys/kernel/osrelease")? else {
        return Ok(None);
    };
    let release = release.text().trim();
    if release.contains('/') {
        return Ok(None);
    }
    let Some(config) = root.read_optional(&format!("boot/config-{release}"))? else {
        return Ok(None);
    };
    let names = [
        "CONFIG_ACPI_TABLE_UPGRADE=y",
        "CONFIG_ACPI_INITRD_TABLE_OVERRIDE=y",
    ];
    let mut lines = config.lines();
    Ok(Some(lines.any(|(_, line)| names.contains(&line.trim()))))
}

/// How far the kernel is locked down (kernel_lockdown(7)): `none`, `integrity` or
/// `confidentiality`; `None` where it cannot be.
///
/// # Errors
/// When the file is malformed.
///
/// One real line: `none [integrity] confidentiality`.
pub fn lockdown(root: &Root) -> Result<Option<String>, Error> {
    let file = root.read_optional("sys/kernel/security/lockdown")?;
    Ok(file.and_then(|file| {
        let chosen = file.text().split_once('[')?.1.split_once(']')?.0;
        Some(chosen.to_owned())
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn root_with(files: &[(&str, &[u8])]) -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        for (path, bytes) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let root = Root::at(directory.path()).unwrap();
        (directory, root)
    }

    #[test]
    fn a_table_is_read_with_its_zeros_or_is_absent() {
        let (_directory, root) = root_with(&[("sys/firmware/acpi/tables/SLIT", b"SLIT\0\x01\0")]);
        assert_eq!(read(&root, "SLIT").unwrap().unwrap(), b"SLIT\0\x01\0");
        assert_eq!(read(&root, "SRAT").unwrap(), None);
        assert!(exists(&root, "SLIT").unwrap());
        assert!(!exists(&root, "SRAT").unwrap());
    }

    #[test]
    fn what_a_kernel_can_is_in_its_configuration() {
        let release: (&str, &[u8]) = ("proc/sys/kernel/osrelease", b"6.1.0-9-amd64\n");
        let config = "boot/config-6.1.0-9-amd64";
        let can = |files: &[(&str, &[u8])]| can_upgrade(&root_with(files).1).unwrap();
        assert_eq!(can(&[]), None);
        assert_eq!(can(&[release]), None);
        let yes = b"CONFIG_ACPI=y\nCONFIG_ACPI_TABLE_UPGRADE=y\n";
        assert_eq!(can(&[release, (config, yes)]), Some(true));
        let no = b"# CONFIG_ACPI_TABLE_UPGRADE is not set\n";
        assert_eq!(can(&[release, (config, no)]), Some(false));
        let elsewhere: (&str, &[u8]) = ("proc/sys/kernel/osrelease", b"../../etc\n");
        assert_eq!(can(&[elsewhere]), None);
    }

    #[test]
    fn the_chosen_lockdown_is_the_one_in_brackets() {
        let of = |text: &[u8]| lockdown(&root_with(&[("sys/kernel/security/lockdown", text)]).1);
        let text = b"none [integrity] confidentiality\n";
        assert_eq!(of(text).unwrap().as_deref(), Some("integrity"));
        assert_eq!(of(b"[none] integrity\n").unwrap().as_deref(), Some("none"));
        assert_eq!(of(b"none\n").unwrap(), None);
    }
}
