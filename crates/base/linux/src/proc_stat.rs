//! `/proc/PID/stat` and its neighbours: the identity of a process (`proc_pid_stat(5)`). Only the
//! first word of a command line is ever reported: the others may be secrets.

use model::CpuId;

use crate::{Error, Root, TextFile};

/// `PF_KTHREAD` (include/linux/sched.h): the process is a thread of the kernel.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// `PF_EXITING` (include/linux/sched.h): the first thread is ending, and may have released its
/// memory.
const EXITING: u64 = 0x0000_0004;

/// The identity of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// The process.
    pub pid: u32,
    /// Whether a capture lacks its stat, so that only what status and cmdline show is known.
    pub lacks_stat: bool,
    /// `comm`: at most 15 bytes, line breaks escaped as in /proc/PID/status.
    pub name: String,
    /// Its parent.
    pub parent: u32,
    /// Whether it is a zombie: it waits for its parent to reap it and has no memory any more.
    pub has_ended: bool,
    /// Whether its first thread has ended while others run. Such a process still has its memory,
    /// but no file in /proc/PID shows it.
    pub lacks_first_thread: bool,
    /// Whether its first thread has ended or is about to: its files may be truncated.
    pub is_ending: bool,
    /// Whether it is a kernel thread, which has no memory of its own.
    pub is_kernel_thread: bool,
    /// Number of threads; 0 where the kernel does not show it.
    pub threads: u32,
    /// Start time in clock ticks after boot: distinguishes it from later processes with its id.
    pub start_ticks: u64,
    /// Its resident pages: a cheap, approximate figure; 0 where the kernel does not show it.
    pub resident_pages: u64,
    /// The CPU its first thread last ran on.
    pub last_cpu: Option<CpuId>,
    /// Bytes of the pages with its arguments and environment, which are the only ones of its
    /// memory that whoever lists processes reads; 0 where the kernel does not show where they are.
    pub argument_bytes: u64,
}

/// All process ids, ascending.
///
/// # Errors
/// When /proc cannot be listed.
pub fn pids(root: &Root) -> Result<Vec<u32>, Error> {
    let entries = root.entries("proc")?.unwrap_or_default();
    let mut pids: Vec<u32> = entries
        .iter()
        .filter_map(|entry| entry.parse().ok())
        .collect();
    pids.sort_unstable();
    Ok(pids)
}

/// The ids of the threads of process `pid`, ascending; empty where they are not shown, as in a
/// capture. /proc has a thread's files below the thread's own id, as for a process.
pub fn threads(root: &Root, pid: u32) -> Vec<u32> {
    let entries = root.entries(&format!("proc/{pid}/task"));
    let entries = entries.ok().flatten().unwrap_or_default();
    let mut ids: Vec<u32> = entries
        .iter()
        .filter_map(|entry| entry.parse().ok())
        .collect();
    ids.sort_unstable();
    ids
}

/// Reads the identity of process `pid`. Of a captured process without stat, it is what the other
/// files show: people send numa_maps, and at best status and cmdline.
///
/// # Errors
/// When it is gone, or the file is malformed.
pub fn read(root: &Root, pid: u32) -> Result<ProcessStat, Error> {
    read_in(root, &thread_directory(pid, pid), pid)
}

/// Reads the identity of thread `tid` of process `pid`: `pid` of the result is that of the thread.
/// The first thread is read from the files of the process, which older captures have, too.
///
/// # Errors
/// As [`read`].
pub fn read_thread(root: &Root, pid: u32, tid: u32) -> Result<ProcessStat, Error> {
    read_in(root, &thread_directory(pid, tid), tid)
}

fn read_in(root: &Root, directory: &str, id: u32) -> Result<ProcessStat, Error> {
    match root.read_lossy(&format!("{directory}/stat")) {
        Ok(file) => parse(id, &file),
        Err(error) if error.is_gone() && !root.is_live() => {
            without_stat(root, directory, id).ok_or(error)
        }
        Err(error) => Err(error),
    }
}

/// What the other files of a captured process show; `None` where there are none.
fn without_stat(root: &Root, directory: &str, id: u32) -> Option<ProcessStat> {
    let status = root.read_lossy(&format!("{directory}/status")).ok();
    let has = |file: &str| root.require(&format!("{directory}/{file}")).is_ok();
    if status.is_none() && !["numa_maps", "maps", "cmdline"].into_iter().any(has) {
        return None;
    }
    // Name:\tora_pmon_X
    let value = |label: &str| {
        let mut lines = status.as_ref()?.lines();
        let value = lines.find_map(|(_, line)| line.strip_prefix(label))?;
        Some(value.trim().to_owned())
    };
    let number = |label: &str| value(label)?.parse().ok();
    // ora_pmon_X, /usr/sbin/mariadbd, redis-server *:6379
    let program = || {
        let words = command_words_in(root, directory).ok()?;
        let program = words.first()?.split(' ').next()?.to_owned();
        program.rsplit('/').next().map(on_one_line)
    };
    let state = value("State:").unwrap_or_default();
    Some(ProcessStat {
        pid: id,
        lacks_stat: true,
        name: value("Name:").or_else(program).unwrap_or_default(),
        parent: number("PPid:").unwrap_or(0),
        has_ended: state.starts_with(['Z', 'X']),
        lacks_first_thread: false,
        is_ending: false,
        is_kernel_thread: false,
        threads: number("Threads:").unwrap_or(0),
        start_ticks: 0,
        resident_pages: 0,
        last_cpu: None,
        argument_bytes: 0,
    })
}

/// The directory with the files of a thread, relative to the root.
pub fn thread_directory(pid: u32, tid: u32) -> String {
    match pid == tid {
        true => format!("proc/{pid}"),
        false => format!("proc/{pid}/task/{tid}"),
    }
}

/// Whether `process` still runs unchanged, so that everything read about it since is complete.
pub fn still_runs(root: &Root, process: &ProcessStat) -> bool {
    read(root, process.pid).is_ok_and(|now| process.runs_on(&now))
}

impl ProcessStat {
    /// Whether this process still runs unchanged, if its id has the identity `now`. Another process
    /// may have its id by then.
    pub fn runs_on(&self, now: &ProcessStat) -> bool {
        let is_whole = now.lacks_first_thread || !now.is_ending;
        now.start_ticks == self.start_ticks
            && now.lacks_first_thread == self.lacks_first_thread
            && is_whole
    }
}

/// `4242 (ora_p000_slob) S 1 4242 …`: the name may hold spaces and parentheses.
fn parse(pid: u32, file: &TextFile) -> Result<ProcessStat, Error> {
    let malformed = || file.malformed(1, "the fields of stat", file.text());
    let (start, end) = file
        .text()
        .find('(')
        .zip(file.text().rfind(')'))
        .ok_or_else(malformed)?;
    let name = file.text().get(start + 1..end).ok_or_else(malformed)?;
    let fields: Vec<&str> = file.text()[end + 1..].split_ascii_whitespace().collect();
    // Fields are counted from 1 in the manual; the third is the first after the name.
    let number = |field: usize| {
        fields
            .get(field - 3)
            .and_then(|text| text.parse::<u64>().ok())
    };
    let is_dead = matches!(fields.first(), Some(&("Z" | "X")));
    let threads = number(20).and_then(|threads| u32::try_from(threads).ok());
    let threads = threads.unwrap_or(0);
    let has_other_threads = threads > 1;
    let flags = number(9).ok_or_else(malformed)?;
    let parent = number(4).and_then(|parent| u32::try_from(parent).ok());
    Ok(ProcessStat {
        pid,
        lacks_stat: false,
        name: on_one_line(name),
        parent: parent.ok_or_else(malformed)?,
        has_ended: is_dead && !has_other_threads,
        lacks_first_thread: is_dead && has_other_threads,
        is_ending: is_dead || flags & EXITING != 0,
        is_kernel_thread: flags & KERNEL_THREAD != 0,
        threads,
        start_ticks: number(22).ok_or_else(malformed)?,
        resident_pages: number(24).unwrap_or(0),
        last_cpu: number(39)
            .and_then(|cpu| u32::try_from(cpu).ok())
            .map(CpuId),
        argument_bytes: argument_bytes(number(48), number(51)),
    })
}

/// The most that arguments and environment take (fs/exec.c, `prepare_arg_pages`: three quarters of
/// `_STK_LIM`). A process may claim more (prctl(2), PR_SET_MM).
const ARGUMENTS_MAX: u64 = 6 << 20;

/// The pages from the first argument (`arg_start`) to the end of the environment (`env_end`), which
/// lie one after the other. Linux before 3.5 does not show them, and only who may trace a process
/// sees other values than 0 (proc_pid_stat(5)).
fn argument_bytes(start: Option<u64>, end: Option<u64>) -> u64 {
    let page = crate::process::page_bytes();
    match (start, end) {
        (Some(start), Some(end)) if start < end => {
            let pages = (end - 1) / page - start / page + 1;
            pages.saturating_mul(page).min(ARGUMENTS_MAX)
        }
        _ => 0,
    }
}

/// The first word of the command line: the program, or the title that a server gave itself
/// (`postgres: checkpointer`, `ora_pmon_ORCL`). Empty for kernel threads and zombies.
///
/// # Errors
/// When the process is gone or may not be read.
pub fn title(root: &Root, pid: u32) -> Result<String, Error> {
    let file = root.read_lossy(&format!("proc/{pid}/cmdline"))?;
    let first = file.text().split('\0').next().unwrap_or("");
    Ok(on_one_line(first.trim_end()))
}

/// The start of its command line, words apart by spaces, without what is left empty of a title. A
/// process may have megabytes of it, or write over it what it likes.
///
/// # Errors
/// When the process is gone or may not be read.
pub fn command_line(root: &Root, pid: u32, bytes_max: u64) -> Result<String, Error> {
    let mut bytes = root.read_bytes(&format!("proc/{pid}/cmdline"), bytes_max)?;
    bytes.truncate(usize::try_from(bytes_max).unwrap_or(usize::MAX));
    let text = String::from_utf8_lossy(&bytes).replace('\0', " ");
    Ok(on_one_line(text.trim_end()))
}

/// A name with its line breaks written as `\n`, as the kernel does in /proc/PID/status: a process
/// may choose any name, and must not insert lines of its own into our output.
fn on_one_line(name: &str) -> String {
    name.replace('\n', "\\n")
}

/// The words of its command line. Empty for kernel threads and zombies.
///
/// # Errors
/// When the process is gone or may not be read.
pub fn command_words(root: &Root, pid: u32) -> Result<Vec<String>, Error> {
    command_words_in(root, &thread_directory(pid, pid))
}

fn command_words_in(root: &Root, directory: &str) -> Result<Vec<String>, Error> {
    root.read_words(&format!("{directory}/cmdline"))
}

/// The cgroups of a process: its path in each hierarchy, `/` for the root.
///
/// # Errors
/// When the process is gone.
pub fn control_groups(root: &Root, pid: u32) -> Result<Vec<String>, Error> {
    let file = root.read_lossy(&format!("proc/{pid}/cgroup"))?;
    // 0::/system.slice/postgresql.service
    let path = |(_, line): (usize, &str)| line.splitn(3, ':').nth(2).map(str::to_owned);
    Ok(file.lines().filter_map(path).collect())
}

/// The directory of the cgroup whose cpuset binds a process, relative to the root: under cgroup v1
/// in its own hierarchy, under v2 the nearest ancestor that has the controller.
///
/// # Errors
/// When the process is gone.
pub fn cpuset_directory(root: &Root, pid: u32) -> Result<Option<String>, Error> {
    let file = root.read_lossy(&format!("proc/{pid}/cgroup"))?;
    let groups = file.lines().filter_map(|(_, line)| {
        // 3:cpuset:/db
        let mut fields = line.splitn(3, ':').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    let groups: Vec<(&str, &str)> = groups.collect();
    let v1 = groups
        .iter()
        .find(|(controllers, _)| controllers.split(',').any(|name| name == "cpuset"));
    let v2 = groups
        .iter()
        .find(|(controllers, _)| controllers.is_empty());
    let (mount, mut group) = match (v1, v2) {
        (Some((_, group)), _) => ("sys/fs/cgroup/cpuset", *group),
        (None, Some((_, group))) => ("sys/fs/cgroup", *group),
        (None, None) => return Ok(None),
    };
    loop {
        let directory = format!("{mount}{}", group.trim_end_matches('/'));
        if root
            .read_optional(&format!("{directory}/cpuset.mems"))?
            .is_some()
        {
            return Ok(Some(directory));
        }
        match group.trim_end_matches('/').rsplit_once('/') {
            Some((parent, _)) => group = parent,
            None => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<ProcessStat, Error> {
        parse(7, &TextFile::new("/stat", text))
    }

    #[test]
    fn names_may_hold_anything() {
        let rest = "S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 912 1 2 3 4 5 6 7 8 9 1 2 3 4 \
                    6 7 17 11 0 0 0";
        let stat = check(&format!("7 (a) b (c)) {rest}\n")).unwrap();
        assert_eq!(stat.name, "a) b (c)");
        assert_eq!(
            (stat.parent, stat.start_ticks, stat.last_cpu),
            (1, 912, Some(CpuId(11)))
        );
        assert!(!stat.is_kernel_thread);
        let dead = |threads| {
            let rest = rest.replacen('S', "Z", 1);
            let rest = rest.replacen("20 0 1 0 912", &format!("20 0 {threads} 0 912"), 1);
            let stat = check(&format!("7 (a) {rest}\n")).unwrap();
            (stat.has_ended, stat.lacks_first_thread)
        };
        assert_eq!((dead(1), dead(4)), ((true, false), (false, true)));
        for text in ["", "7 (x", ")(", "7 (x) S"] {
            assert!(check(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_captured_process_without_stat_is_what_its_other_files_show() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("proc/7")).unwrap();
        let root = Root::at(directory.path()).unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(directory.path().join("proc/7").join(name), text).unwrap();
        };
        assert!(read(&root, 7).unwrap_err().is_gone());
        write("numa_maps", "");
        let stat = read(&root, 7).unwrap();
        assert_eq!((stat.lacks_stat, stat.name.as_str()), (true, ""));
        write("cmdline", "/usr/sbin/mariadbd\0--port=1\0");
        assert_eq!(read(&root, 7).unwrap().name, "mariadbd");
        write(
            "status",
            "Name:\tora_pmon_X\nState:\tS (sleeping)\nPPid:\t3\nThreads:\t2\n",
        );
        let stat = read(&root, 7).unwrap();
        assert_eq!((stat.name.as_str(), stat.parent), ("ora_pmon_X", 3));
        assert_eq!((stat.threads, stat.has_ended), (2, false));
        write("status", "Name:\tx\nState:\tZ (zombie)\n");
        assert!(read(&root, 7).unwrap().has_ended);
        write("stat", "no stat");
        assert!(read(&root, 7).is_err());
    }

    #[test]
    fn the_pages_with_arguments_and_environment_are_counted() {
        let page = crate::process::page_bytes();
        let check = |start, end, pages| assert_eq!(argument_bytes(start, end), pages * page);
        check(Some(2 * page + 8), Some(3 * page), 1);
        check(Some(2 * page + 8), Some(3 * page + 1), 2);
        check(Some(0), Some(0), 0);
        check(Some(5), Some(4), 0);
        check(None, None, 0);
        assert_eq!(argument_bytes(Some(1), Some(u64::MAX)), 6 << 20);
        let own = read(&Root::live(), std::process::id()).unwrap();
        let environment = std::fs::read("/proc/self/environ").unwrap().len() as u64;
        assert!(own.argument_bytes >= environment.max(1), "{own:?}");
        assert!(own.argument_bytes < environment + (1 << 20), "{own:?}");
    }

    #[test]
    fn the_group_that_binds_a_process_is_found_under_both_versions() {
        let directory = tempfile::tempdir().unwrap();
        let path = |path: &str| directory.path().join(path);
        std::fs::create_dir_all(path("proc/7")).unwrap();
        std::fs::create_dir_all(path("sys/fs/cgroup/a/b")).unwrap();
        std::fs::create_dir_all(path("sys/fs/cgroup/cpuset/c")).unwrap();
        std::fs::write(path("sys/fs/cgroup/a/cpuset.mems"), "0\n").unwrap();
        std::fs::write(path("sys/fs/cgroup/cpuset/c/cpuset.mems"), "0\n").unwrap();
        let root = Root::at(directory.path()).unwrap();
        let check = |groups: &str, expected: Option<&str>| {
            std::fs::write(path("proc/7/cgroup"), groups).unwrap();
            assert_eq!(
                cpuset_directory(&root, 7).unwrap().as_deref(),
                expected,
                "{groups}"
            );
        };
        check("0::/a/b\n", Some("sys/fs/cgroup/a"));
        check("0::/\n", None);
        check("5:cpu,cpuset:/c\n0::/a/b\n", Some("sys/fs/cgroup/cpuset/c"));
        check("5:cpu:/c\n", None);
    }

    #[test]
    fn this_process_is_found() {
        let root = Root::live();
        let own = std::process::id();
        assert!(pids(&root).unwrap().contains(&own));
        let stat = read(&root, own).unwrap();
        assert!(stat.parent > 0 && !stat.is_kernel_thread && stat.last_cpu.is_some());
        assert!(!title(&root, own).unwrap().is_empty());
        assert!(!control_groups(&root, own).unwrap().is_empty());
        assert!(stat.resident_pages > 0);
        let threads = threads(&root, own);
        assert!(threads.contains(&own) && threads.len() > 1, "{threads:?}");
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("[0-9() a-zé]{0,120}", &|text| {
            let _ = check(text);
        });
    }
}
