//! Time on a CPU and on a run queue, from the schedstat of a process or of this thread.
//!
//! One real line: `1286043 50041 9` is time on CPU (ns), time on a run queue (ns), time slices
//! (Documentation/scheduler/sched-stats.rst). The first lags by up to a tick while the task runs,
//! the second does not.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::{Error, Root, TextFile};

/// Path of the file.
const PATH: &str = "/proc/self/schedstat";

/// How long a process ran and waited to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleTimes {
    /// Time on a CPU.
    pub on_cpu_ns: u64,
    /// Time spent ready but not running.
    pub run_queue_ns: u64,
}

/// The times of process `pid`: those of its first thread.
///
/// # Errors
/// When it is gone, or the kernel was built without `CONFIG_SCHED_INFO`.
pub fn of_process(root: &Root, pid: u32) -> Result<ScheduleTimes, Error> {
    of_file(&root.read(&format!("proc/{pid}/schedstat"))?)
}

/// An open schedstat, for repeated reads without allocation.
#[derive(Debug)]
pub struct RunQueueWait {
    file: File,
}

impl RunQueueWait {
    /// Opens the file of this process.
    ///
    /// # Errors
    /// When the kernel was built without `CONFIG_SCHED_INFO`: the file is missing then.
    pub fn open() -> io::Result<Self> {
        Ok(RunQueueWait {
            file: File::open(PATH)?,
        })
    }

    /// Time spent ready but not running since the process began, ns.
    ///
    /// # Errors
    /// When the file cannot be read or is not three numbers.
    pub fn read_ns(&self) -> io::Result<u64> {
        let mut buffer = [0u8; 96];
        let length = self.file.read_at(&mut buffer, 0)?;
        let times = parse(&buffer[..length]);
        times.map(|times| times.run_queue_ns).ok_or_else(|| {
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            io::Error::other(format!("{PATH}: expected three numbers, found {text:?}"))
        })
    }
}

fn parse(text: &[u8]) -> Option<ScheduleTimes> {
    let mut fields = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    Some(ScheduleTimes {
        on_cpu_ns: fields.next()?.parse().ok()?,
        run_queue_ns: fields.next()?.parse().ok()?,
    })
}

/// Time the calling thread has spent ready but not running, ns; `None` when the kernel was built
/// without `CONFIG_SCHED_INFO`.
///
/// # Errors
/// When the file is malformed.
pub fn run_queue_wait_of_thread_ns(root: &Root) -> Result<Option<u64>, Error> {
    let file = root.read_optional("proc/thread-self/schedstat")?;
    let times = file.as_ref().map(of_file).transpose()?;
    Ok(times.map(|times| times.run_queue_ns))
}

fn of_file(file: &TextFile) -> Result<ScheduleTimes, Error> {
    parse(file.text().as_bytes())
        .ok_or_else(|| file.malformed(1, "three numbers", file.text().trim_end()))
}

#[cfg(test)]
mod tests {
    use super::{
        RunQueueWait, ScheduleTimes, of_file, of_process, parse, run_queue_wait_of_thread_ns,
    };
    use crate::{Root, TextFile};

    #[test]
    fn the_first_field_is_the_cpu_and_the_second_the_wait() {
        let times = ScheduleTimes {
            on_cpu_ns: 1_286_043,
            run_queue_ns: 50041,
        };
        assert_eq!(parse(b"1286043 50041 9\n"), Some(times));
        for text in [&b""[..], b"1", b"x 2 3", b"1 -2 3", b"\xff 1 2"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_times_of_this_process_are_read() {
        assert!(
            of_process(&Root::live(), std::process::id())
                .unwrap()
                .on_cpu_ns
                > 0
        );
    }

    #[test]
    fn the_wait_of_this_process_never_goes_back() {
        let wait = RunQueueWait::open().unwrap();
        let before = wait.read_ns().unwrap();
        assert!(wait.read_ns().unwrap() >= before);
    }

    #[test]
    fn the_second_number_is_the_wait() {
        let check = |text: &str| of_file(&TextFile::new("/f", text));
        assert_eq!(check("1286043 50041 9\n").unwrap().run_queue_ns, 50041);
        for text in ["", "1", "1 x 3", "1 -2 3"] {
            assert!(check(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_thread_never_waits_less_than_before() {
        let root = Root::live();
        let before = run_queue_wait_of_thread_ns(&root).unwrap();
        assert!(run_queue_wait_of_thread_ns(&root).unwrap() >= before);
    }
}
