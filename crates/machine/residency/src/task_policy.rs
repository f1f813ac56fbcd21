//! The policy of a task for memory that it allocates, in the kernel's words.

use linux::Root;

use super::numa_maps;

/// As much of a numa_maps as holds its first line.
pub(crate) const FIRST_LINE_BYTES: u64 = 512;

/// As much of it as holds the policy in most cases. The kernel walks the pages of each mapping
/// whose line it begins, and begins none after so many bytes (fs/seq_file.c, `seq_read_iter`).
const POLICY_BYTES: u64 = 64;

/// Reads the policy from the first mapping in the numa_maps of a process or thread: a mapping
/// without a policy of its own is shown with that of the task whose file is read
/// (fs/proc/task_mmu.c, `show_numa_map` and `hold_task_mempolicy`), and the first is that of the
/// program. `None` where it may not be read or is not captured.
pub(super) fn of_task(root: &Root, directory: &str) -> Option<String> {
    let path = format!("{directory}/numa_maps");
    let policy = |bytes_max| {
        let start = root.read_prefix(&path, bytes_max).ok()??;
        numa_maps::policy_of_start(&String::from_utf8_lossy(&start))
    };
    policy(POLICY_BYTES).or_else(|| policy(FIRST_LINE_BYTES))
}

#[cfg(test)]
mod tests {
    use linux::Root;

    use super::of_task;

    #[test]
    fn a_policy_is_read_whole_however_long_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path()).unwrap();
        std::fs::create_dir_all(directory.path().join("proc/7")).unwrap();
        let check = |text: &str, expected: Option<&str>| {
            std::fs::write(directory.path().join("proc/7/numa_maps"), text).unwrap();
            assert_eq!(of_task(&root, "proc/7").as_deref(), expected, "{text:?}");
        };
        let file = "file=/usr/bin/mysqld mapped=9 N0=9 kernelpagesize_kB=4\n";
        let nodes = (0..64).map(|node| (2 * node).to_string());
        let long = format!("bind:{}", nodes.collect::<Vec<_>>().join(","));
        for policy in [
            "default",
            "weighted interleave:0-3",
            "prefer (many):1",
            &long,
        ] {
            check(&format!("555edf408000 {policy} {file}"), Some(policy));
            check(&format!("555edf408000 {policy}\n"), Some(policy));
        }
        // The first read ends at each place of a policy of two words.
        for padding in 20..64 {
            let text = format!("{} prefer (many):0-1 {file}", "0".repeat(padding));
            check(&text, Some("prefer (many):0-1"));
        }
        check("", None);
        check("555edf408000", None);
        assert_eq!(of_task(&root, "proc/8"), None);
    }
}
