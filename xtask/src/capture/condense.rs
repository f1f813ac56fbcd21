//! What is left out of captured texts: repetition, and what tells about people and installations
//! instead of about the machine, because captures are published.

use std::path::Path;

use super::entry::{Content, Entry};

/// Words of the kernel command line that change CPUs, memory or control groups, by their beginning.
const KERNEL_WORDS: &[&str] = &[
    "cgroup",
    "default_hugepagesz",
    "hugepages",
    "hugetlb",
    "isolcpus",
    "kernelcore",
    "maxcpus",
    "mem=",
    "memhp",
    "memmap",
    "mitigations",
    "movable",
    "nohz_full",
    "nosmt",
    "nr_cpus",
    "numa",
    "possible_cpus",
    "psi",
    "rcu_nocbs",
    "systemd.unified_cgroup_hierarchy",
    "transparent_hugepage",
    "tsc",
    "zswap",
];

/// File systems whose mount points a reader of memory and control groups looks up.
const FILE_SYSTEMS: &[&str] = &[
    "cgroup",
    "cgroup2",
    "devtmpfs",
    "hugetlbfs",
    "proc",
    "sysfs",
    "tmpfs",
];

/// Where a tmpfs means the same on every machine.
const TMPFS_MOUNT_POINTS: &[&str] = &["/dev", "/dev/shm", "/run", "/sys/fs/cgroup", "/tmp"];

/// The entry with a shorter text where there is one.
pub fn condensed(entry: Entry) -> Entry {
    let Content::Text(text) = &entry.content else {
        return entry;
    };
    let text = if entry.path == Path::new("proc/cpuinfo") {
        cpuinfo(text)
    } else if entry.path == Path::new("proc/cmdline") {
        kernel_command_line(text)
    } else if entry.path == Path::new("proc/mounts") {
        mounts(text)
    } else if entry.path == Path::new("proc/version") {
        version(text)
    } else {
        return entry;
    };
    Entry {
        content: Content::Text(text),
        ..entry
    }
}

/// /proc/cpuinfo repeats twenty lines for each CPU. The first CPU is kept whole, of the others
/// only the lines that differ in a way that a topology reader uses.
fn cpuinfo(text: &str) -> String {
    let blocks = text.split_inclusive("\n\n").enumerate();
    let shorten = |(number, block): (usize, &str)| {
        if number == 0 {
            return block.to_string();
        }
        let kept = ["processor", "physical id", "core id"];
        let lines = block
            .lines()
            .filter(|line| kept.iter().any(|key| line.starts_with(key)));
        lines.map(|line| format!("{line}\n")).collect::<String>() + "\n"
    };
    blocks.map(shorten).collect()
}

fn kernel_command_line(text: &str) -> String {
    // What follows ` -- ` is for the first process, not for the kernel.
    let for_kernel = text.split(" -- ").next().unwrap_or_default();
    let is_kept = |word: &&str| KERNEL_WORDS.iter().any(|start| word.starts_with(start));
    let words: Vec<_> = for_kernel.split_whitespace().filter(is_kept).collect();
    words.join(" ") + "\n"
}

/// ```text
/// cgroup2 /sys/fs/cgroup cgroup2 rw,relatime 0 0
/// ```
fn mounts(text: &str) -> String {
    let is_kept = |line: &&str| {
        let mut fields = line.split(' ').skip(1);
        let (point, kind) = (fields.next().unwrap_or(""), fields.next().unwrap_or(""));
        FILE_SYSTEMS.contains(&kind) && (kind != "tmpfs" || TMPFS_MOUNT_POINTS.contains(&point))
    };
    text.lines()
        .filter(is_kept)
        .map(|line| format!("{line}\n"))
        .collect()
}

/// ```text
/// Linux version 6.1.0-35-amd64 (who@where) (compiler) #1 SMP PREEMPT_DYNAMIC Debian …
/// ```
fn version(text: &str) -> String {
    let (release, build) = (text.split(" (").next(), text.split_once(" #"));
    match (release, build) {
        (Some(release), Some((_, build))) => format!("{release} #{build}"),
        _ => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cpu_is_kept_whole_and_the_others_in_short() {
        let text = "processor\t: 0\nmodel name\t: X\ncore id\t: 0\n\n\
            processor\t: 1\nmodel name\t: X\ncore id\t: 1\n\n";
        let expected = "processor\t: 0\nmodel name\t: X\ncore id\t: 0\n\n\
            processor\t: 1\ncore id\t: 1\n\n";
        assert_eq!(cpuinfo(text), expected);
    }

    #[test]
    fn the_command_line_keeps_what_concerns_cpus_and_memory() {
        let text = "root=UUID=1 numa_balancing=disable quiet hugepages=64 -- --numa-token x\n";
        assert_eq!(
            kernel_command_line(text),
            "numa_balancing=disable hugepages=64\n"
        );
    }

    #[test]
    fn mounts_of_data_are_left_out() {
        let text = "proc /proc proc rw 0 0\n/dev/vda / ext4 rw 0 0\nx /mnt/x tmpfs rw 0 0\n\
            shm /dev/shm tmpfs rw 0 0\n";
        assert_eq!(
            mounts(text),
            "proc /proc proc rw 0 0\nshm /dev/shm tmpfs rw 0 0\n"
        );
    }

    #[test]
    fn the_version_names_no_builder() {
        let text = "Linux version 6.1.0-35-amd64 (a@b) (gcc (Debian) 12) #1 SMP Debian 6.1\n";
        assert_eq!(
            version(text),
            "Linux version 6.1.0-35-amd64 #1 SMP Debian 6.1\n"
        );
        assert_eq!(version("odd\n"), "odd\n");
    }
}
