//! Capabilities of this thread (`capabilities(7)`).

use crate::{Error, Root, TextFile};

/// `CAP_SYS_NICE` (include/uapi/linux/capability.h): allows moving pages of other users' processes
/// and pages that several processes map.
const SYS_NICE: u32 = 23;

/// `CAP_SYS_PTRACE`: allows inspecting the mappings of other users' processes (ptrace(2), "Ptrace
/// access mode checking").
const SYS_PTRACE: u32 = 19;

/// `CAP_IPC_LOCK`: allows System V segments of huge pages of any size.
const IPC_LOCK: u32 = 14;

/// Whether this thread may inspect the mappings of other users' processes; false when unknown.
pub fn may_see_others(root: &Root) -> bool {
    has(root, SYS_PTRACE)
}

/// Whether this thread may move pages that several processes map; false when unknown.
pub fn may_move_pages_of_others(root: &Root) -> bool {
    has(root, SYS_NICE)
}

/// Whether this thread may make System V segments of huge pages of any size; false when unknown.
/// The capability, or being in the group `vm.hugetlb_shm_group`, counts in the initial user
/// namespace only (fs/hugetlbfs/inode.c, `can_do_hugetlb_shm`).
pub(crate) fn may_make_huge_segments(root: &Root) -> bool {
    let may = || -> Result<bool, Error> {
        let file = status(root)?;
        if effective(&file)? >> IPC_LOCK & 1 == 1 {
            return Ok(true);
        }
        let group = root.read("proc/sys/vm/hugetlb_shm_group")?;
        let group = group.text().trim().to_owned();
        // Of `Gid:`, the last is the one that the kernel compares (credentials(7), `fsgid`).
        let own = file.lines().find_map(|(_, it)| it.strip_prefix("Gid:"));
        let others = file.lines().find_map(|(_, it)| it.strip_prefix("Groups:"));
        let own = own.and_then(|ids| ids.split_ascii_whitespace().last());
        let others = others.into_iter().flat_map(str::split_ascii_whitespace);
        Ok(own.into_iter().chain(others).any(|id| id == group))
    };
    is_in_child_user_namespace(root) == Some(false) && may().unwrap_or(false)
}

/// Whether users of this process are not those of the machine (user_namespaces(7)); `None` when
/// unknown.
pub(crate) fn is_in_child_user_namespace(root: &Root) -> Option<bool> {
    let file = root.read_start("proc/self/uid_map", 4096).ok()??;
    // One line, `0 0 4294967295`, means that every user is mapped to itself.
    let every: [&str; 3] = ["0", "0", "4294967295"];
    Some(!file.text().split_ascii_whitespace().eq(every))
}

fn has(root: &Root, capability: u32) -> bool {
    let set = status(root).and_then(|file| effective(&file));
    set.is_ok_and(|set| set >> capability & 1 == 1)
}

/// The status of this thread, which has credentials of its own (credentials(7)).
fn status(root: &Root) -> Result<TextFile, Error> {
    root.read("proc/thread-self/status")
}

/// `CapEff:\t000001fffeffffff` of a status file.
fn effective(file: &TextFile) -> Result<u64, Error> {
    let line = file
        .lines()
        .find_map(|(number, line)| Some((number, line.strip_prefix("CapEff:")?.trim())));
    let (number, text) = line.ok_or_else(|| file.ended("a line CapEff:"))?;
    u64::from_str_radix(text, 16).map_err(|_| file.malformed(number, "hexadecimal digits", text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_set_decides() {
        for (line, expected) in [
            ("CapEff:\t0000000000800000\n", true),
            ("CapEff:\t000001ffff7fffff\n", false),
            ("CapEff:\tmany\n", false),
            ("", false),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let folder = directory.path().join("proc/thread-self");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("status"), line).unwrap();
            let root = Root::at(directory.path()).unwrap();
            assert_eq!(may_move_pages_of_others(&root), expected, "{line}");
        }
    }

    #[test]
    fn huge_segments_of_any_size_take_a_capability_or_the_group_on_the_machine_itself() {
        const EVERY: &str = "         0          0 4294967295\n";
        let may = |namespace: &str, group: &str, status: &str| {
            let directory = tempfile::tempdir().unwrap();
            for (path, text) in [
                ("proc/self/uid_map", namespace),
                ("proc/thread-self/status", status),
                ("proc/sys/vm/hugetlb_shm_group", group),
            ] {
                let path = directory.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            may_make_huge_segments(&Root::at(directory.path()).unwrap())
        };
        let status =
            |set: &str| format!("Gid:\t1000\t1000\t1000\t30\nGroups:\t4 27 100 \nCapEff:\t{set}\n");
        let (with, without) = (status("0000000000004000"), status("0000000000000000"));
        assert!(may(EVERY, "0\n", &with));
        assert!(!may(EVERY, "0\n", &without));
        assert!(may(EVERY, "30\n", &without) && may(EVERY, "27\n", &without));
        assert!(
            !may(EVERY, "1000\n", &without),
            "the kernel compares another"
        );
        assert!(!may("0 1000 1\n", "27\n", &with));
        assert!(!may("", "27\n", ""));
    }
}
