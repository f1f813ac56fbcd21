//! What is left out of captured texts: repetition, and what identifies people and installations
//! rather than the machine, because captures are published.

use crate::instances::class_of;

/// Prefixes of the kernel command-line words that affect CPUs, memory or control groups.
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

/// Mount points where a tmpfs means the same on every machine.
const TMPFS_MOUNT_POINTS: &[&str] = &["/dev", "/dev/shm", "/run", "/sys/fs/cgroup", "/tmp"];

/// Lines of /proc/PID/status that show where a process is and what memory it has.
const STATUS_LINES: &[&str] = &[
    "Name:",
    "State:",
    "Tgid:",
    "Pid:",
    "PPid:",
    "NSpid:",
    "Threads:",
    "Vm",
    "Rss",
    "HugetlbPages:",
    "Cpus_allowed",
    "Mems_allowed",
];

/// Lines of /proc/PID/task/TID/status: the others are those of the process.
const STATUS_LINES_OF_THREADS: &[&str] = &["Name:", "Cpus_allowed_list:", "Mems_allowed_list:"];

/// Whether this is a file of a thread: `proc/7/task/8/stat`.
pub(super) fn is_of_thread(path: &str) -> bool {
    path.starts_with("proc/") && path.split('/').nth(2) == Some("task")
}

/// Returns what is captured of a file with this content.
pub(super) fn condensed(path: &str, text: &str) -> String {
    match path {
        "proc/cpuinfo" => return cpuinfo(text),
        "proc/cmdline" => return kernel_command_line(text),
        "proc/mounts" => return mounts(text),
        "proc/version" => return version(text),
        "proc/zoneinfo" => return zones(text),
        _ => {}
    }
    let file = path.rsplit('/').next().unwrap_or(path);
    if is_of_thread(path) && file == "status" {
        return lines(text, STATUS_LINES_OF_THREADS);
    }
    let is_of_process = path.starts_with("proc/") && path.split('/').count() == 3;
    match file {
        "cmdline" if is_of_process => title(text),
        "status" if is_of_process => lines(text, STATUS_LINES),
        // The lines after the process id are directories and addresses.
        "postmaster.pid" => text
            .lines()
            .take(1)
            .map(|line| format!("{line}\n"))
            .collect(),
        _ => text.to_owned(),
    }
}

/// Returns the program, or the title that a server gave itself, and never an argument, which may be
/// a secret. The title of a PostgreSQL session names user, database and client.
fn title(text: &str) -> String {
    let title = text.split('\0').next().unwrap_or("");
    let title = if title.starts_with("postgres: ") {
        format!("postgres: {}", class_of("", title))
    } else {
        title.split(' ').next().unwrap_or("").to_owned()
    };
    title + "\0"
}

fn lines(text: &str, starts: &[&str]) -> String {
    let is_kept = |line: &&str| starts.iter().any(|start| line.starts_with(start));
    let lines = text.lines().filter(is_kept);
    lines.map(|line| format!("{line}\n")).collect()
}

/// Shortens /proc/cpuinfo, which repeats twenty lines for each CPU. Keeps the first CPU whole, and
/// of the others only the lines that differ and that a topology reader uses. Keeps what some
/// architectures print about the machine before the first CPU and after the last one.
fn cpuinfo(text: &str) -> String {
    let mut has_cpu = false;
    let shorten = |block: &str| {
        let is_of_cpu = block.starts_with("processor");
        let is_first = is_of_cpu && !has_cpu;
        has_cpu |= is_of_cpu;
        if is_first || !is_of_cpu {
            return block.to_string();
        }
        let kept = ["processor", "physical id", "core id"];
        let lines = block
            .lines()
            .filter(|line| kept.iter().any(|key| line.starts_with(key)));
        lines.map(|line| format!("{line}\n")).collect::<String>() + "\n"
    };
    text.split_inclusive("\n\n").map(shorten).collect()
}

fn kernel_command_line(text: &str) -> String {
    // What follows ` -- ` is for init, not for the kernel.
    let for_kernel = text.split(" -- ").next().unwrap_or_default();
    let is_kept = |word: &&str| KERNEL_WORDS.iter().any(|start| word.starts_with(start));
    let words: Vec<_> = for_kernel.split_whitespace().filter(is_kept).collect();
    words.join(" ") + "\n"
}

/// What is free in the zones, and where they are: not their statistics, nor those of every CPU.
fn zones(text: &str) -> String {
    const KEPT: [&str; 9] = [
        "Node",
        "pages",
        "min",
        "low",
        "high",
        "spanned",
        "present",
        "managed",
        "start_pfn:",
    ];
    let is_kept = |line: &&str| {
        let first = line.split_ascii_whitespace().next().unwrap_or("");
        KEPT.contains(&first) || first == "protection:"
    };
    let lines = text.lines().filter(is_kept);
    lines.map(|line| format!("{line}\n")).collect()
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
    fn zones_keep_what_is_free_and_where_they_are() {
        let text = "Node 0, zone      DMA\n  per-node stats\n      nr_inactive_anon 328230\n  \
                    pages free     3840\n        low      13\n        protection: (0, 1)\n  \
                    pagesets\n    cpu: 0\n              count: 0\n  start_pfn:           1\n";
        let expected = "Node 0, zone      DMA\n  pages free     3840\n        low      13\n        \
                        protection: (0, 1)\n  start_pfn:           1\n";
        assert_eq!(condensed("proc/zoneinfo", text), expected);
    }

    #[test]
    fn the_first_cpu_is_kept_whole_and_the_others_in_short() {
        let text = "processor\t: 0\nmodel name\t: X\ncore id\t: 0\n\n\
            processor\t: 1\nmodel name\t: X\ncore id\t: 1\n\n";
        let expected = "processor\t: 0\nmodel name\t: X\ncore id\t: 0\n\n\
            processor\t: 1\ncore id\t: 1\n\n";
        assert_eq!(cpuinfo(text), expected);
    }

    #[test]
    fn what_is_said_of_the_machine_beside_its_cpus_is_kept() {
        let loongarch = "system type\t: generic\n\nprocessor\t: 0\nModel Name\t: X\n\n\
            processor\t: 1\nModel Name\t: X\n\n";
        let expected = "system type\t: generic\n\nprocessor\t: 0\nModel Name\t: X\n\n\
            processor\t: 1\n\n";
        assert_eq!(cpuinfo(loongarch), expected);
        let power = "processor\t: 0\ncpu\t: X\n\nprocessor\t: 1\ncpu\t: X\n\nplatform\t: Y\n";
        let expected = "processor\t: 0\ncpu\t: X\n\nprocessor\t: 1\n\nplatform\t: Y\n";
        assert_eq!(cpuinfo(power), expected);
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
    fn titles_say_what_a_process_does_and_nothing_else() {
        let check = |text: &str, expected: &str| {
            assert_eq!(condensed("proc/7/cmdline", text), format!("{expected}\0"));
        };
        check("/usr/sbin/mysqld\0--password=x\0", "/usr/sbin/mysqld");
        check("mysqld --password=x", "mysqld");
        check("postgres: checkpointer ", "postgres: checkpointer");
        check("postgres: main: walwriter", "postgres: walwriter");
        check(
            "postgres: alice secrets 10.0.0.1(5) idle",
            "postgres: session",
        );
        check("oracleslob (LOCAL=NO)", "oracleslob");
        check("", "");
    }

    #[test]
    fn of_a_process_only_what_tells_about_placement_is_kept() {
        let of_thread = "Name:\tx\nVmPTE:\t8 kB\nCpus_allowed:\t1\nMems_allowed_list:\t0\n";
        let expected = "Name:\tx\nMems_allowed_list:\t0\n";
        assert_eq!(condensed("proc/7/task/8/status", of_thread), expected);
        let text = "Name:\tx\nUid:\t7\nVmPTE:\t8 kB\nGroups:\t1\nMems_allowed_list:\t0\n";
        let expected = "Name:\tx\nVmPTE:\t8 kB\nMems_allowed_list:\t0\n";
        assert_eq!(condensed("proc/7/status", text), expected);
        assert_eq!(condensed("data/postmaster.pid", "7\n/data\n5432\n"), "7\n");
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
