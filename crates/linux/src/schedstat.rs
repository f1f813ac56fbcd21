//! Run-queue wait of this process, from /proc/self/schedstat.
//!
//! One real line: `1286043 50041 9` is time on CPU (ns), time on a run queue (ns), time slices
//! (Documentation/scheduler/sched-stats.rst). The first lags by up to a tick while the task runs,
//! the second does not.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Path of the file.
const PATH: &str = "/proc/self/schedstat";

/// An open schedstat, read again and again without an allocation.
#[derive(Debug)]
pub struct RunQueueWait {
    file: File,
}

impl RunQueueWait {
    /// Opens the file of this process.
    ///
    /// # Errors
    /// When the kernel was built without `CONFIG_SCHED_INFO`, the file is missing.
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
        parse_run_queue_ns(&buffer[..length]).ok_or_else(|| {
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            io::Error::other(format!("{PATH}: expected three numbers, found {text:?}"))
        })
    }
}

fn parse_run_queue_ns(text: &[u8]) -> Option<u64> {
    let mut fields = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    let _on_cpu: u64 = fields.next()?.parse().ok()?;
    fields.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{RunQueueWait, parse_run_queue_ns};

    #[test]
    fn the_second_field_is_the_wait() {
        assert_eq!(parse_run_queue_ns(b"1286043 50041 9\n"), Some(50041));
        for text in [&b""[..], b"1", b"x 2 3", b"1 -2 3", b"\xff 1 2"] {
            assert_eq!(parse_run_queue_ns(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_wait_of_this_process_never_goes_back() {
        let wait = RunQueueWait::open().unwrap();
        let before = wait.read_ns().unwrap();
        assert!(wait.read_ns().unwrap() >= before);
    }
}
