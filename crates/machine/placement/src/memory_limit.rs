//! How much memory the cgroups of this process still allow it: a container may get little of what
//! is free on the nodes (kernel, Documentation/admin-guide/cgroup-v2.rst, "Memory", and
//! cgroup-v1/memory.rst).

use std::path::Path;

use linux::{Root, control_group};

use crate::Error;
use crate::hierarchy::{self, own_group};

/// From here on a limit is none: version 1 has no word for that and shows the largest number.
const NONE_BYTES: u64 = 1 << 60;

/// The files of one version for the limit of a cgroup and for what is charged, and the field for
/// the file cache in the latter that can be dropped at once.
struct Names {
    limit: &'static str,
    charged: &'static str,
    droppable: &'static str,
}

const OF_VERSION_1: Names = Names {
    limit: "memory.limit_in_bytes",
    charged: "memory.usage_in_bytes",
    droppable: "total_inactive_file ",
};
const OF_VERSION_2: Names = Names {
    limit: "memory.max",
    charged: "memory.current",
    droppable: "inactive_file ",
};

/// Bytes that the cgroup of this process and those above it still allow, including file caches that
/// can be dropped; `None` where none of them has a limit, or none can be read.
///
/// # Errors
/// When files that every kernel has cannot be read.
pub fn left_bytes(root: &Root) -> Result<Option<u64>, Error> {
    let hierarchy = match hierarchy::find_controller(root, "memory") {
        Ok(hierarchy) => hierarchy,
        Err(Error::NoGroups { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let (names, controller) = match hierarchy.version {
        1 => (OF_VERSION_1, "memory"),
        _ => (OF_VERSION_2, ""),
    };
    let own = hierarchy.mount.join(own_group(root, controller)?);
    let above = own.ancestors();
    let above = above.take_while(|directory| directory.starts_with(&hierarchy.mount));
    Ok(above.filter_map(|it| left_in(it, &names)).min())
}

/// What one cgroup still allows.
fn left_in(directory: &Path, names: &Names) -> Option<u64> {
    let read = |name: &str| control_group::read(&directory.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let limit = number(names.limit).filter(|bytes| *bytes < NONE_BYTES)?;
    let stat = read("memory.stat").unwrap_or_default();
    let droppable = stat
        .lines()
        .find_map(|line| line.strip_prefix(names.droppable));
    let droppable: u64 = droppable.and_then(|it| it.trim().parse().ok()).unwrap_or(0);
    let charged = number(names.charged)?.saturating_sub(droppable);
    Some(limit.saturating_sub(charged))
}

#[cfg(test)]
mod tests {
    use linux::Root;

    use super::left_bytes;

    /// What is left, given these files below the root directory.
    fn left(files: &[(&str, &str)]) -> Option<u64> {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        left_bytes(&Root::at(directory.path()).unwrap()).unwrap()
    }

    #[test]
    fn the_least_of_all_groups_above_is_left() {
        let found = left(&[
            ("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
            ("proc/self/cgroup", "0::/pod/own\n"),
            ("sys/fs/cgroup/cgroup.controllers", "cpu memory\n"),
            ("sys/fs/cgroup/pod/memory.max", "1000\n"),
            ("sys/fs/cgroup/pod/memory.current", "700\n"),
            (
                "sys/fs/cgroup/pod/memory.stat",
                "anon 5\ninactive_file 100\n",
            ),
            ("sys/fs/cgroup/pod/own/memory.max", "max\n"),
            ("sys/fs/cgroup/pod/own/memory.current", "600\n"),
        ]);
        assert_eq!(found, Some(400));
    }

    #[test]
    fn version_1_has_other_names_and_a_number_for_no_limit() {
        let group = |limit| {
            left(&[
                (
                    "proc/mounts",
                    "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n",
                ),
                ("proc/self/cgroup", "4:memory:/own\n"),
                ("sys/fs/cgroup/memory/own/memory.limit_in_bytes", limit),
                ("sys/fs/cgroup/memory/own/memory.usage_in_bytes", "900\n"),
                (
                    "sys/fs/cgroup/memory/own/memory.stat",
                    "total_inactive_file 50\n",
                ),
            ])
        };
        assert_eq!(group("1000\n"), Some(150));
        assert_eq!(group("800\n"), Some(0));
        assert_eq!(group("9223372036854771712\n"), None);
    }

    #[test]
    fn without_control_groups_there_is_no_limit() {
        assert_eq!(left(&[("proc/mounts", "proc /proc proc rw 0 0\n")]), None);
    }
}
