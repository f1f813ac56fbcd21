//! The same machine as another kernel shows it, or as another tool copies it, and the changes to
//! files that make it so.

use model::{CpuSet, Id};

use crate::Tree;
use crate::machine::Core;

/// The directory of CPUs.
pub(crate) const CPU: &str = "sys/devices/system/cpu";
/// The directory of nodes.
pub(crate) const NODE: &str = "sys/devices/system/node";

/// Lists of CPUs whose masks have another name; of every other list `X_list` it is `X`.
const MASKS: [(&str, &str); 2] = [("cpulist", "cpumap"), ("shared_cpu_list", "shared_cpu_map")];

/// The lists that have masks, below the directories of CPUs and nodes.
const LISTS: [&str; 5] = [
    "core_cpus_list",
    "core_siblings_list",
    "die_cpus_list",
    "package_cpus_list",
    "thread_siblings_list",
];

/// With masks in the place of all lists that have one, as old kernels show it.
pub fn with_masks(tree: &Tree) -> Tree {
    tree.map(|path, content| {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let text = String::from_utf8_lossy(content);
        match (mask_name(name), text.parse::<CpuSet>()) {
            (Some(name), Ok(cpus)) => (format!("{directory}/{name}"), mask(&cpus).into_bytes()),
            _ => (path.to_owned(), content.to_vec()),
        }
    })
}

fn mask_name(list: &str) -> Option<&str> {
    let renamed = MASKS.iter().find(|(name, _)| *name == list);
    renamed.map(|(_, mask)| *mask).or_else(|| {
        let has_mask = LISTS.contains(&list);
        list.strip_suffix("_list").filter(|_| has_mask)
    })
}

/// A mask as the kernel prints it: groups of 32 bits, the most significant first.
pub fn mask(cpus: &CpuSet) -> String {
    let groups = cpus.last().map_or(1, |last| last.number() / 32 + 1);
    let mut bits = vec![0_u32; groups as usize];
    for cpu in cpus {
        bits[(cpu.number() / 32) as usize] |= 1 << (cpu.number() % 32);
    }
    let groups: Vec<String> = bits
        .iter()
        .rev()
        .map(|bits| format!("{bits:08x}"))
        .collect();
    groups.join(",") + "\n"
}

/// A list as the kernel prints it.
pub(crate) fn list(cpus: &CpuSet) -> String {
    format!("{cpus}\n")
}

/// With a NUL at the end of every file.
pub fn with_nul(tree: &Tree) -> Tree {
    tree.map(|path, content| (path.to_owned(), [content, b"\0"].concat()))
}

/// With what was left in a buffer behind a NUL at the end of every file.
pub fn with_leftovers(tree: &Tree) -> Tree {
    tree.map(|path, content| (path.to_owned(), [content, b"\0\xff left over\n\0"].concat()))
}

/// As a kernel of 2006 would show it, Linux 2.6.18: masks in the place of lists, no lists of CPUs
/// and nodes at all, and huge pages only in meminfo.
pub(crate) fn as_linux_2_6_18(tree: &Tree) -> Tree {
    let mut tree = with_masks(tree);
    for path in [
        "sys/devices/system/cpu/isolated",
        "sys/devices/system/cpu/offline",
        "sys/devices/system/cpu/online",
        "sys/devices/system/cpu/possible",
        "sys/devices/system/cpu/present",
        "sys/devices/system/node/has_cpu",
        "sys/devices/system/node/has_memory",
        "sys/devices/system/node/online",
        "sys/devices/system/node/possible",
        "sys/kernel/mm",
        "proc/sys/kernel/numa_balancing",
    ] {
        tree.remove(path);
    }
    let pools: Vec<String> = tree
        .paths()
        .filter(|path| path.contains("/hugepages/"))
        .map(str::to_owned)
        .collect();
    for path in pools {
        tree.remove(&path);
    }
    tree
}

/// The CPUs of each package, for every CPU, in files of this name below `topology`; no package has
/// a number.
pub(crate) fn packages_by_cpus(
    tree: &mut Tree,
    cores: &[Core],
    name: &str,
    of: impl Fn(&CpuSet) -> String,
) {
    for core in cores {
        let same = cores.iter().filter(|other| other.package == core.package);
        let package: CpuSet = same.flat_map(|core| &core.cpus).collect();
        for cpu in &core.cpus {
            let topology = format!("{CPU}/cpu{cpu}/topology");
            tree.set(&format!("{topology}/physical_package_id"), "-1\n");
            tree.set(&format!("{topology}/{name}"), of(&package));
        }
    }
}

/// The content of every file of this name anywhere.
pub(crate) fn replace(tree: &mut Tree, name: &str, content: &str) {
    let end = format!("/{name}");
    let paths = tree.paths().filter(|path| path.ends_with(&end));
    let paths: Vec<String> = paths.map(str::to_owned).collect();
    for path in paths {
        tree.set(&path, content);
    }
}

/// Takes every file of this name away.
pub(crate) fn remove(tree: &mut Tree, name: &str) {
    let end = format!("/{name}");
    let paths = tree.paths().filter(|path| path.ends_with(&end));
    let paths: Vec<String> = paths.map(str::to_owned).collect();
    for path in paths {
        tree.remove(&path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_become_masks_and_nothing_else() {
        let mut tree = Tree::default();
        tree.set("sys/devices/system/node/node0/cpulist", "0-3,64\n")
            .set("sys/devices/system/cpu/online", "0-3\n")
            .set("sys/devices/system/cpu/cpu0/topology/core_cpus_list", "\n");
        let masks = with_masks(&tree);
        let paths: Vec<&str> = masks.paths().collect();
        assert_eq!(
            paths,
            [
                "sys/devices/system/cpu/cpu0/topology/core_cpus",
                "sys/devices/system/cpu/online",
                "sys/devices/system/node/node0/cpumap",
            ]
        );
        let text = |path| masks.text(path).unwrap();
        assert_eq!(text(paths[0]), "00000000\n");
        assert_eq!(text(paths[1]), "0-3\n");
        assert_eq!(text(paths[2]), "00000001,00000000,0000000f\n");
    }

    #[test]
    fn every_file_ends_in_a_nul() {
        let mut tree = Tree::default();
        tree.set("a", "1\n").set("b", "");
        assert_eq!(with_nul(&tree).text("a"), Some("1\n\0"));
        assert_eq!(with_nul(&tree).text("b"), Some("\0"));
        assert_eq!(with_leftovers(&tree).text("a"), None);
    }
}
