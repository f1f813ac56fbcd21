//! The parts of /proc/PID/status that concern placement.

use model::{CpuSet, IdSet, NodeSet};

use crate::proc_stat::thread_directory;
use crate::{Error, Root, TextFile};

/// The CPUs and memory nodes that a process may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// `Cpus_allowed_list`.
    pub cpus: CpuSet,
    /// `Mems_allowed_list`.
    pub memory_nodes: NodeSet,
}

/// The status of one process; each field is `None` where the file lacks it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Its effective user (`Uid`).
    pub user: Option<u32>,
    /// The CPUs and memory nodes that it may use.
    pub allowed: Option<Allowed>,
    /// Bytes of its page tables (`VmPTE`); a kernel thread has none.
    pub page_table_bytes: Option<u64>,
    /// Mapped huge pages of hugetlbfs (`HugetlbPages`, since 4.4).
    pub huge_bytes: Option<u64>,
}

/// Returns the effective user and group of process `pid`. The owner of /proc/PID is another where
/// the process has changed its user (proc(5)).
///
/// # Errors
/// When the process is gone, or the file lacks one of the two lines.
pub fn user(root: &Root, pid: u32) -> Result<(u32, u32), Error> {
    let file = root.read_lossy(&format!("proc/{pid}/status"))?;
    let id = |label| effective(&file, label).ok_or_else(|| file.ended(format!("a line {label}")));
    Ok((id("Uid:")?, id("Gid:")?))
}

/// `Uid:\t102\t102\t102\t102`: real, effective, saved, of file systems.
fn effective(file: &TextFile, label: &str) -> Option<u32> {
    let mut lines = file.lines();
    let line = lines.find_map(|(_, line)| line.strip_prefix(label))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Reads the status of process `pid`.
///
/// # Errors
/// When the process is gone or the size is malformed.
pub fn read(root: &Root, pid: u32) -> Result<Status, Error> {
    let file = root.read_lossy(&format!("proc/{pid}/status"))?;
    // VmPTE:\t     132 kB
    let size_of = |label: &str| {
        let mut lines = file.lines();
        let line = lines.find_map(|(number, line)| Some((number, line.strip_prefix(label)?)));
        let size = line.map(|(number, value)| size(&file, number, value));
        size.transpose()
    };
    Ok(Status {
        user: effective(&file, "Uid:"),
        allowed: parse(&file).ok(),
        page_table_bytes: size_of("VmPTE:")?,
        huge_bytes: size_of("HugetlbPages:")?,
    })
}

/// Reads the CPUs and memory nodes that process `pid` may use.
///
/// # Errors
/// When the process is gone, or the file lacks one of the two lines.
pub fn allowed(root: &Root, pid: u32) -> Result<Allowed, Error> {
    let file = root.read(&format!("proc/{pid}/status"))?;
    parse(&file)
}

/// Reads the CPUs and memory nodes that thread `tid` of process `pid` may use.
///
/// # Errors
/// As [`allowed`].
pub fn allowed_of_thread(root: &Root, pid: u32, tid: u32) -> Result<Allowed, Error> {
    let directory = thread_directory(pid, tid);
    parse(&root.read_lossy(&format!("{directory}/status"))?)
}

/// Memory mapped by a process, from the kernel's own cheap counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resident {
    /// `RssAnon`: private to it.
    pub private_bytes: u64,
    /// `RssShmem` and `HugetlbPages`: possibly shared with other processes.
    pub shared_bytes: u64,
}

/// Reads how much memory process `pid` has mapped; missing lines count as zero.
///
/// # Errors
/// When the process is gone or a size is malformed.
pub fn resident(root: &Root, pid: u32) -> Result<Resident, Error> {
    let file = root.read_lossy(&format!("proc/{pid}/status"))?;
    let mut found = Resident::default();
    for (number, line) in file.lines() {
        // RssAnon:\t    1234 kB
        let (label, value) = line.split_once(':').unwrap_or((line, ""));
        let sum = match label {
            "RssAnon" => &mut found.private_bytes,
            "RssShmem" | "HugetlbPages" => &mut found.shared_bytes,
            _ => continue,
        };
        *sum = sum.saturating_add(size(&file, number, value)?);
    }
    Ok(found)
}

/// `     132 kB`, in bytes.
fn size(file: &TextFile, number: usize, value: &str) -> Result<u64, Error> {
    let kib = value.trim().strip_suffix(" kB");
    let kib = kib.and_then(|kib| kib.trim().parse::<u64>().ok());
    let bytes = kib.and_then(|kib| kib.checked_mul(1024));
    bytes.ok_or_else(|| file.malformed(number, "a size in kB", value))
}

/// The inode of the initial PID namespace, which sees all processes (include/linux/proc_ns.h,
/// `PROC_PID_INIT_INO`).
pub const INITIAL_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

/// The PID namespace of this process; `None` when it cannot be read.
pub fn pid_namespace(root: &Root) -> Option<u64> {
    // pid:[4026531836]
    let link = std::fs::read_link(root.path("proc/self/ns/pid")).ok()?;
    let number = link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?;
    number.parse().ok()
}

/// The id of a process in its own PID namespace; `None` when it is gone or the line is missing.
pub fn innermost_pid(root: &Root, pid: u32) -> Option<u32> {
    let file = root.read_lossy(&format!("proc/{pid}/status")).ok()?;
    // NSpid:\t4711\t7
    let mut lines = file.lines();
    let ids = lines.find_map(|(_, line)| line.strip_prefix("NSpid:"))?;
    ids.split_ascii_whitespace().next_back()?.parse().ok()
}

/// Whether this process runs under a seccomp filter (`Seccomp:\t2`, proc_pid_status(5)).
///
/// # Errors
/// When the file cannot be read.
pub fn has_seccomp_filter(root: &Root) -> Result<bool, Error> {
    let file = root.read("proc/self/status")?;
    let mode = file
        .lines()
        .find_map(|(_, line)| line.strip_prefix("Seccomp:"));
    Ok(mode.is_some_and(|mode| mode.trim() == "2"))
}

/// One real line: `Cpus_allowed_list:\t0-1` (proc_pid_status(5)).
fn parse(file: &TextFile) -> Result<Allowed, Error> {
    Ok(Allowed {
        cpus: list(file, "Cpus_allowed_list:")?,
        memory_nodes: list(file, "Mems_allowed_list:")?,
    })
}

fn list<T: model::Id>(file: &TextFile, label: &str) -> Result<IdSet<T>, Error> {
    let line = file
        .lines()
        .find_map(|(number, line)| Some((number, line.strip_prefix(label)?)));
    let (number, text) = line.ok_or_else(|| file.ended(format!("a line {label}")))?;
    text.trim()
        .parse()
        .map_err(|_| file.malformed(number, "a list such as 0-3,8", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::{Status, allowed, parse, read, resident, user};
    use crate::{Root, TextFile};

    #[test]
    fn the_effective_user_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("proc/7/status");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let root = Root::at(directory.path()).unwrap();
        std::fs::write(&file, "Uid:\t0\t102\t0\t0\nGid:\t0\t106\t0\t0\n").unwrap();
        assert_eq!(user(&root, 7).unwrap(), (102, 106));
        std::fs::write(&file, "Uid:\t0\t102\t0\t0\n").unwrap();
        assert!(user(&root, 7).unwrap_err().to_string().contains("Gid:"));
        let own = user(&Root::live(), std::process::id()).unwrap();
        assert_eq!(own.0, crate::process::user());
    }

    #[test]
    fn both_lists_are_read() {
        let text = "Name:\tx\nCpus_allowed_list:\t0-3,8\nMems_allowed_list:\t0,7\n";
        let allowed = parse(&TextFile::new("/proc/1/status", text)).unwrap();
        assert_eq!(allowed.cpus.to_string(), "0-3,8");
        assert_eq!(allowed.memory_nodes.to_string(), "0,7");
    }

    #[test]
    fn a_missing_or_malformed_line_is_named() {
        let cases = [
            ("Name:\tx\n", "a line Cpus_allowed_list:"),
            (
                "Cpus_allowed_list:\t0-\nMems_allowed_list:\t0\n",
                "a list such as 0-3,8",
            ),
        ];
        for (text, expected) in cases {
            let error = parse(&TextFile::new("/proc/1/status", text)).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn private_memory_is_told_from_memory_that_may_be_shared() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("proc/7/status");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let root = Root::at(directory.path()).unwrap();
        let text = "RssAnon:\t 12 kB\nRssFile:\t 9 kB\nRssShmem:\t 4 kB\nHugetlbPages:\t 2048 kB\n";
        std::fs::write(&file, text).unwrap();
        let found = resident(&root, 7).unwrap();
        assert_eq!(
            (found.private_bytes, found.shared_bytes),
            (12 << 10, 2052 << 10)
        );
        std::fs::write(&file, "RssAnon:\t many\n").unwrap();
        let error = resident(&root, 7).unwrap_err().to_string();
        assert!(error.contains("a size in kB"), "{error}");
    }

    #[test]
    fn what_the_file_does_not_say_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("proc/7/status");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let root = Root::at(directory.path()).unwrap();
        std::fs::write(&file, "Name:\tkthreadd\n").unwrap();
        assert_eq!(read(&root, 7).unwrap(), Status::default());
        let text = "VmPTE:\t  132 kB\nCpus_allowed_list:\t0\nMems_allowed_list:\t1\n";
        std::fs::write(&file, text).unwrap();
        let found = read(&root, 7).unwrap();
        assert_eq!(found.page_table_bytes, Some(132 << 10));
        assert_eq!(found.allowed.unwrap().memory_nodes.to_string(), "1");
        std::fs::write(&file, "VmPTE:\t  18446744073709551615 kB\n").unwrap();
        assert!(read(&root, 7).is_err());
    }

    #[test]
    fn this_process_is_allowed_somewhere() {
        let here = allowed(&Root::live(), std::process::id()).unwrap();
        assert!(!here.cpus.is_empty() && !here.memory_nodes.is_empty());
    }
}
