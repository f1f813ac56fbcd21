//! What /proc/PID/stat says that changes from second to second (`proc_pid_stat(5)`), read for every
//! process of a machine once a second: one open, one read into a buffer that is kept, and no other
//! call.

use std::os::fd::OwnedFd;

use model::CpuId;
use rustix::fs::{Mode, OFlags, openat};

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
    buffer: Vec<u8>,
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
            buffer: vec![0; STAT_BYTES_MAX],
        }
    }

    /// Reads a process; `None` when it is gone.
    ///
    /// # Errors
    /// When the file is malformed.
    pub fn read(&mut self, pid: u32) -> Result<Option<Activity>, Error> {
        self.read_file(&format!("{pid}/stat"))
    }

    /// Reads a thread: CPU time and start are its own; `None` when it is gone.
    ///
    /// # Errors
    /// When the file is malformed.
    pub fn read_thread(&mut self, pid: u32, tid: u32) -> Result<Option<Activity>, Error> {
        self.read_file(&format!("{pid}/task/{tid}/stat"))
    }

    fn read_file(&mut self, path: &str) -> Result<Option<Activity>, Error> {
        let Some(directory) = &self.directory else {
            let file = match self.root.read_lossy(&format!("proc/{path}")) {
                Err(Error::Read { .. }) => return Ok(None),
                file => file?,
            };
            let parsed = parse(file.text());
            let malformed = || file.malformed(1, "the fields of stat", file.text());
            return parsed.ok_or_else(malformed).map(Some);
        };
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let Ok(file) = openat(directory, path, flags, Mode::empty()) else {
            return Ok(None);
        };
        let Ok(length) = rustix::io::read(&file, &mut self.buffer[..]) else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&self.buffer[..length]);
        // A process that ends while it is read gives an empty file.
        Ok(parse(&text))
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

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9() a-zé-]{0,160}") {
            let _ = parse(&text);
        }

        #[test]
        fn no_fields_panic(fields in prop::collection::vec("-?[0-9]{0,22}|[SZX]", 0..45)) {
            let _ = parse(&format!("1 (x) {}", fields.join(" ")));
        }
    }
}
