//! Kernel settings that affect memory placement, from /proc/sys, /sys/kernel/mm, /proc/cmdline and
//! /proc/mounts. `sysfs_cpus` reads the governors of the CPUs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use model::{CgroupVersion, KernelSettings, NodeId};

use crate::{Error, Root, TextFile};

/// Reads the settings; those that this kernel lacks are `None`.
///
/// # Errors
/// When a file is malformed.
pub fn read(root: &Root) -> Result<KernelSettings, Error> {
    let command_line = root.read_optional("proc/cmdline")?;
    let numa_option = command_line.as_ref().map(|file| numa_option(file.text()));
    let mounts = root.read_optional("proc/mounts")?;
    let huge = "sys/kernel/mm/transparent_hugepage";
    Ok(KernelSettings {
        numa_balancing: number(root, "proc/sys/kernel/numa_balancing")?,
        zone_reclaim_mode: number(root, "proc/sys/vm/zone_reclaim_mode")?,
        swappiness: number(root, "proc/sys/vm/swappiness")?,
        transparent_huge_pages: choice(root, &format!("{huge}/enabled"))?,
        transparent_huge_pages_defrag: choice(root, &format!("{huge}/defrag"))?,
        transparent_huge_pages_shmem: choice(root, &format!("{huge}/shmem_enabled"))?,
        numa_off: numa_option.as_ref().map(|option| {
            option
                .as_ref()
                .is_some_and(|value| value.starts_with("off"))
        }),
        numa_option: numa_option.flatten(),
        cgroup: mounts.map(|file| cgroup_version(&file)).transpose()?,
        cpu_governors: None,
        smt: name(root, "sys/devices/system/cpu/smt/control")?,
        demotion: switch(root, "sys/kernel/mm/numa/demotion_enabled")?,
        interleave_weights: interleave_weights(root)?,
    })
}

fn number<T: FromStr>(root: &Root, path: &str) -> Result<Option<T>, Error> {
    root.read_optional(path)?
        .map(|file| file.number())
        .transpose()
}

fn choice(root: &Root, path: &str) -> Result<Option<String>, Error> {
    root.read_optional(path)?
        .map(|file| file.choice().map(str::to_owned))
        .transpose()
}

fn name(root: &Root, path: &str) -> Result<Option<String>, Error> {
    root.read_optional(path)?
        .map(|file| file.name().map(str::to_owned))
        .transpose()
}

fn switch(root: &Root, path: &str) -> Result<Option<bool>, Error> {
    let Some(file) = root.read_optional(path)? else {
        return Ok(None);
    };
    match file.word() {
        "true" => Ok(Some(true)),
        "false" => Ok(Some(false)),
        other => Err(file.malformed(1, "true or false", other)),
    }
}

/// The last value of `numa=` among the kernel's parameters; those after `--` belong to init
/// (kernel, `Documentation/admin-guide/kernel-parameters.rst`).
fn numa_option(command_line: &str) -> Option<String> {
    let parameters = command_line
        .split_ascii_whitespace()
        .take_while(|word| *word != "--");
    let values = parameters.filter_map(|word| word.strip_prefix("numa="));
    values.last().map(str::to_owned)
}

/// The cgroup versions that /proc/mounts shows (`proc_pid_mounts(5)`):
/// `cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime 0 0`.
fn cgroup_version(mounts: &TextFile) -> Result<CgroupVersion, Error> {
    let (mut v1, mut v2) = (false, false);
    for (number, line) in mounts.lines() {
        let kind = line.split(' ').nth(2).ok_or_else(|| {
            mounts.malformed(number, "a mount: source, directory, type, options", line)
        })?;
        v1 |= kind == "cgroup";
        v2 |= kind == "cgroup2";
    }
    Ok(match (v1, v2) {
        (true, true) => CgroupVersion::Hybrid,
        (true, false) => CgroupVersion::V1,
        (false, true) => CgroupVersion::V2,
        (false, false) => CgroupVersion::None,
    })
}

/// The weights of weighted interleave (Linux 6.9;
/// Documentation/ABI/testing/sysfs-kernel-mm-mempolicy-weighted-interleave).
const WEIGHTS: &str = "sys/kernel/mm/mempolicy/weighted_interleave";

/// The folder of the weights, below a root.
pub fn interleave_weights_folder(root: &Root) -> PathBuf {
    root.path(WEIGHTS)
}

/// The names of the file that says whether the kernel sets the weights itself, from bandwidths that
/// the firmware states (Linux 6.16). In 6.18, a macro of the kernel's sources changed its name.
const AUTOMATIC: [&str; 2] = ["auto", "__auto_type"];

/// Whether the kernel sets the weights itself, with the name of the file that says so; `None` where
/// it never does.
///
/// # Errors
/// When the file cannot be read, or says something else.
pub fn automatic_weights(root: &Root) -> Result<Option<(&'static str, bool)>, Error> {
    for name in AUTOMATIC {
        if let Some(is_on) = switch(root, &format!("{WEIGHTS}/{name}"))? {
            return Ok(Some((name, is_on)));
        }
    }
    Ok(None)
}

/// Each node's weight, in pages per round; `None` when the kernel has no such policy.
///
/// # Errors
/// When a file cannot be read or is not a number.
pub fn interleave_weights(root: &Root) -> Result<Option<BTreeMap<NodeId, u64>>, Error> {
    let Some(names) = root.entries(WEIGHTS)? else {
        return Ok(None);
    };
    let mut weights = BTreeMap::new();
    for name in names {
        // Linux 6.16 has a file `auto` beside those of the nodes.
        let Some(node) = name.strip_prefix("node").and_then(|id| id.parse().ok()) else {
            continue;
        };
        let file = root.read(&format!("{WEIGHTS}/{name}"))?;
        weights.insert(NodeId(node), file.number()?);
    }
    Ok(Some(weights))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numa_option_is_found_among_the_parameters() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(numa_option(line).as_deref(), expected, "{line}");
        };
        check(
            "BOOT_IMAGE=/vmlinuz root=/dev/sda1 numa=off quiet\n",
            Some("off"),
        );
        check("numa=fake=4", Some("fake=4"));
        check("numa_balancing=disable xnuma=off", None);
        check("quiet -- numa=off", None);
        check("", None);
    }

    #[test]
    fn mounts_tell_the_versions_of_control_groups() {
        let check = |text: &str, expected| {
            let mounts = TextFile::new("/proc/mounts", text);
            assert_eq!(cgroup_version(&mounts).unwrap(), expected, "{text}");
        };
        let v1 = "cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0\n";
        let v2 = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
        let other = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /mnt/cgroup\\040x ext4 rw 0 0\n";
        check("", CgroupVersion::None);
        check(other, CgroupVersion::None);
        check(&format!("{other}{v1}"), CgroupVersion::V1);
        check(&format!("{other}{v2}"), CgroupVersion::V2);
        check(&format!("{v1}{v2}"), CgroupVersion::Hybrid);
    }

    #[test]
    fn a_malformed_mount_is_named_with_its_line() {
        let mounts = TextFile::new("/proc/mounts", "proc /proc proc rw 0 0\ntrunc /x");
        assert_eq!(
            cgroup_version(&mounts).unwrap_err().to_string(),
            "/proc/mounts, line 2: expected a mount: source, directory, type, options, \
             found \"trunc /x\""
        );
    }

    #[test]
    fn weights_are_read_by_node_and_a_kernel_without_them_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path()).unwrap();
        assert_eq!(interleave_weights(&root).unwrap(), None);
        assert_eq!(automatic_weights(&root).unwrap(), None);
        let directory = folder.path().join(WEIGHTS);
        std::fs::create_dir_all(&directory).unwrap();
        for (name, text) in [("node0", "5\n"), ("node12", "2\n"), ("auto", "true\n")] {
            std::fs::write(directory.join(name), text).unwrap();
        }
        let weights = interleave_weights(&root).unwrap().unwrap();
        assert_eq!(
            weights.into_iter().collect::<Vec<_>>(),
            [(NodeId(0), 5), (NodeId(12), 2)]
        );
        assert_eq!(automatic_weights(&root).unwrap(), Some(("auto", true)));
        std::fs::remove_file(directory.join("auto")).unwrap();
        std::fs::write(directory.join("__auto_type"), "false\n").unwrap();
        let found = automatic_weights(&root).unwrap();
        assert_eq!(found, Some(("__auto_type", false)));
        std::fs::write(directory.join("node0"), "many\n").unwrap();
        let error = interleave_weights(&root).unwrap_err().to_string();
        assert!(error.contains("node0"), "{error}");
    }
}
