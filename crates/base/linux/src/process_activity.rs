//! What /proc/PID/stat says that changes from second to second (`proc_pid_stat(5)`), read for every
//! process of a machine once a second. Files stay open, which saves half the time; an open file
//! does not keep a process, and reads as an error once that has ended, also when another one has
//! its id. A process of one thread that has not run since it was read, by its /proc/PID/schedstat
//! (less work for the kernel), is as it was, but for memory that others have taken from it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::os::fd::OwnedFd;

use model::CpuId;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::pread;

use crate::{Error, Root};

/// `PF_KTHREAD` (include/linux/sched.h).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Ticks per second in /proc/PID/stat: `USER_HZ` (include/asm-generic/param.h).
const USER_HZ: f64 = 100.0;

/// The file has 52 numbers and a name of at most 64 bytes; the longest number has 20 digits.
const STAT_BYTES_MAX: usize = 2048;

/// A process at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    /// `comm`, line breaks escaped.
    pub name: String,
    /// Whether it is a thread of the kernel.
    pub is_kernel_thread: bool,
    /// Whether it is a zombie.
    pub has_ended: bool,
    /// Its parent.
    pub parent: u32,
    /// CPU seconds of all its threads since its start.
    pub cpu_s: f64,
    /// Number of threads.
    pub threads: u32,
    /// Start in clock ticks after boot.
    pub start_ticks: u64,
    /// Resident pages (`rss`), without those of hugetlbfs; the kernel sums it up roughly.
    pub resident_pages: Option<u64>,
    /// The CPU its first thread last ran on.
    pub last_cpu: Option<CpuId>,
}

/// Reads processes below one root.
#[derive(Debug)]
pub struct ActivityReader {
    root: Root,
    /// /proc of the running machine: a path relative to it takes the kernel less time.
    directory: Option<OwnedFd>,
    held: HashMap<u32, Held>,
    /// Processes whose files may stay open: two each.
    held_max: usize,
    buffer: Vec<u8>,
}

/// A process whose files are open.
#[derive(Debug)]
struct Held {
    stat: OwnedFd,
    /// Of a process of one thread.
    schedstat: Option<OwnedFd>,
    /// What it said before stat was read.
    ran: Vec<u8>,
    /// How often it has said the same.
    times: u8,
    last: Activity,
}

/// A process that does not run is read again after so many times: its memory may have been swapped.
const TIMES_MAX: u8 = 10;

impl Held {
    /// Whether the process has not run since it was read.
    fn has_rested(&mut self, buffer: &mut [u8]) -> bool {
        let read = self
            .schedstat
            .as_ref()
            .map(|file| pread(file, &mut *buffer, 0));
        let Some(Ok(length @ 1..)) = read else {
            return false;
        };
        let ran = &buffer[..length];
        // A kernel that does not count says 0 of all.
        if self.ran == ran && !ran.starts_with(b"0 ") && self.times < TIMES_MAX {
            self.times += 1;
            return true;
        }
        self.ran = ran.to_vec();
        self.times = 0;
        false
    }
}

impl ActivityReader {
    /// A reader below this root.
    pub fn new(root: &Root) -> Self {
        let directory = root.is_live().then(|| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open("/proc", flags, Mode::empty()).ok()
        });
        Self {
            root: root.clone(),
            directory: directory.flatten(),
            held: HashMap::new(),
            held_max: held_max(),
            buffer: vec![0; STAT_BYTES_MAX],
        }
    }

    /// Reads a process; `None` when it is gone.
    ///
    /// # Errors
    /// When the file is malformed.
    pub fn read(&mut self, pid: u32) -> Result<Option<Activity>, Error> {
        let Some(held) = self.held.get_mut(&pid) else {
            return self.read_first(pid);
        };
        if held.has_rested(&mut self.buffer) {
            return Ok(Some(held.last.clone()));
        }
        let parsed = match pread(&held.stat, &mut self.buffer[..], 0) {
            Ok(length @ 1..) => parse(&text(&self.buffer[..length])),
            _ => None,
        };
        let Some(activity) = parsed else {
            // It has ended. There may be another process with this id.
            self.held.remove(&pid);
            return self.read_first(pid);
        };
        if activity.threads != 1 {
            held.schedstat = None;
        }
        held.last = activity.clone();
        Ok(Some(activity))
    }

    /// Reads a process whose files are not open.
    fn read_first(&mut self, pid: u32) -> Result<Option<Activity>, Error> {
        let (activity, file) = self.read_file(&format!("{pid}/stat"))?;
        if let (Some(last), Some(stat)) = (&activity, file)
            && self.held.len() < self.held_max
        {
            let schedstat = match last.threads {
                1 => self.open(&format!("{pid}/schedstat")),
                _ => None,
            };
            let held = Held {
                stat,
                schedstat,
                ran: Vec::new(),
                times: 0,
                last: last.clone(),
            };
            self.held.insert(pid, held);
        }
        Ok(activity)
    }

    fn open(&self, path: &str) -> Option<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        openat(self.directory.as_ref()?, path, flags, Mode::empty()).ok()
    }

    /// Closes the files of all other processes.
    pub fn keep_only(&mut self, is_kept: impl Fn(u32) -> bool) {
        self.held.retain(|pid, _| is_kept(*pid));
    }

    /// Reads a thread: CPU time and start are its own; `None` when it is gone.
    ///
    /// # Errors
    /// When the file is malformed.
    pub fn read_thread(&mut self, pid: u32, tid: u32) -> Result<Option<Activity>, Error> {
        let (activity, _) = self.read_file(&format!("{pid}/task/{tid}/stat"))?;
        Ok(activity)
    }

    /// Reads a file below /proc; returns it open, too, on the running machine.
    fn read_file(&mut self, path: &str) -> Result<(Option<Activity>, Option<OwnedFd>), Error> {
        if self.directory.is_none() {
            let file = match self.root.read_lossy(&format!("proc/{path}")) {
                Err(Error::Read { .. }) => return Ok((None, None)),
                file => file?,
            };
            let parsed = parse(file.text());
            let malformed = || file.malformed(1, "the fields of stat", file.text());
            return Ok((Some(parsed.ok_or_else(malformed)?), None));
        }
        let Some(file) = self.open(path) else {
            return Ok((None, None));
        };
        let Ok(length) = pread(&file, &mut self.buffer[..], 0) else {
            return Ok((None, None));
        };
        // A process that ends while it is read gives an empty file.
        Ok((parse(&text(&self.buffer[..length])), Some(file)))
    }
}

/// Half of the files that this process may have open, two for each process.
fn held_max() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit / 4).unwrap_or(usize::MAX)
    })
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// `4242 (ora_p000_slob) S 1 4242 …`: the name may hold spaces and parentheses.
fn parse(text: &str) -> Option<Activity> {
    let (start, end) = text.find('(').zip(text.rfind(')'))?;
    let name = text.get(start + 1..end)?;
    let mut activity = Activity {
        name: name.replace('\n', "\\n"),
        ..Activity::default()
    };
    let mut has_start = false;
    let mut ticks: u64 = 0;
    // Fields are counted from 1 in the manual; the third is the first after the name.
    for (field, word) in (3..).zip(text[end + 1..].split_ascii_whitespace()) {
        let number = || word.parse::<u64>();
        match field {
            3 => activity.has_ended = matches!(word, "Z" | "X"),
            4 => activity.parent = word.parse().ok()?,
            9 => activity.is_kernel_thread = number().ok()? & KERNEL_THREAD != 0,
            14 | 15 => ticks = ticks.saturating_add(number().ok()?),
            20 => activity.threads = word.parse().unwrap_or(0),
            22 => {
                activity.start_ticks = number().ok()?;
                has_start = true;
            }
            24 => activity.resident_pages = number().ok(),
            39 => activity.last_cpu = word.parse().ok().map(CpuId),
            40.. => break,
            _ => {}
        }
    }
    activity.cpu_s = ticks as f64 / USER_HZ;
    activity.has_ended &= activity.threads <= 1;
    has_start.then_some(activity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_fields_are_those_of_the_manual() {
        let rest = "S 1 7 7 0 -1 4194560 1 2 3 4 250 50 7 8 20 0 3 0 912 1 77 3 4 5 6 7 8 9 1 2 3 \
                    4 6 7 17 11 0 0 0";
        let activity = parse(&format!("7 (a) b (c\n)) {rest}\n")).unwrap();
        let expected = Activity {
            name: "a) b (c\\n)".to_owned(),
            parent: 1,
            cpu_s: 3.0,
            threads: 3,
            start_ticks: 912,
            resident_pages: Some(77),
            last_cpu: Some(CpuId(11)),
            ..Activity::default()
        };
        assert_eq!(activity, expected);
        for text in ["", "7 (x", ")(", "7 (x) S", "7 (x) S 1 7 7"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn this_process_is_read_and_one_that_is_gone_is_none() {
        let mut reader = ActivityReader::new(&Root::live());
        let own = std::process::id();
        let activity = reader.read(own).unwrap().unwrap();
        let stat = crate::proc_stat::read(&Root::live(), own).unwrap();
        assert_eq!(activity.start_ticks, stat.start_ticks);
        assert_eq!(activity.name, stat.name);
        assert!(activity.resident_pages > Some(0));
        assert_eq!(reader.read(u32::MAX).unwrap(), None);
    }

    #[test]
    fn a_process_that_sleeps_is_as_it_was_and_one_that_runs_or_ends_is_read_again() {
        let mut reader = ActivityReader::new(&Root::live());
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        let text =
            |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        while !text("stat").contains("(cat) S") {
            std::thread::yield_now();
        }
        // It is said to sleep a moment before it leaves its CPU.
        let mut ran = String::new();
        while ran != text("schedstat") {
            ran = text("schedstat");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let first = reader.read(pid).unwrap().unwrap();
        for _ in 0..3 {
            assert_eq!(reader.read(pid).unwrap().as_ref(), Some(&first));
        }
        child.kill().unwrap();
        // A zombie until it is waited for.
        let has_ended = |reader: &mut ActivityReader| match reader.read(pid).unwrap() {
            Some(activity) => activity.has_ended,
            None => true,
        };
        while !has_ended(&mut reader) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(reader.read(pid).unwrap(), None);
        assert!(reader.held.is_empty());
    }

    proptest! {

        #[test]
        fn no_fields_panic(fields in prop::collection::vec("-?[0-9]{0,22}|[SZX]", 0..45)) {
            let _ = parse(&format!("1 (x) {}", fields.join(" ")));
        }
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("[0-9() a-zé-]{0,160}", &|text| {
            let _ = parse(text);
        });
    }
}
