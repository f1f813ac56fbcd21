//! The time model: DB time = DB CPU + CPU wait + named waits.
//!
//! The terms are Oracle's; the sources are the kernel's: CPU time of the session process
//! (`CLOCK_PROCESS_CPUTIME_ID`), run-queue wait (second field of /proc/PID/schedstat), and waits
//! timed by the instance itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Where the time of all sessions went during one window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeModel {
    /// Sessions × their wall time in the window: the DB time of sessions that never idle.
    pub db_time_s: f64,
    /// CPU time.
    pub db_cpu_s: f64,
    /// Time on a run queue: ready, but not running; includes time throttled by a CPU quota.
    pub cpu_wait_s: f64,
    /// The part of `db_cpu_s` spent in the kernel; `None` where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_cpu_s: Option<f64>,
    /// Named waits by event.
    pub waits: BTreeMap<String, Wait>,
}

impl TimeModel {
    /// Seconds of all named waits.
    pub fn waits_s(&self) -> f64 {
        self.waits.values().map(|wait| wait.total_s).sum()
    }

    /// DB time that no term accounts for; negative when the terms overlap.
    pub fn unaccounted_s(&self) -> f64 {
        self.db_time_s - self.db_cpu_s - self.cpu_wait_s - self.waits_s()
    }

    /// Share of DB time that no term accounts for, 0 when there was no DB time.
    pub fn unaccounted_share(&self) -> f64 {
        if self.db_time_s > 0.0 {
            self.unaccounted_s() / self.db_time_s
        } else {
            0.0
        }
    }
}

/// One wait event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// Number of waits.
    pub count: u64,
    /// Time spent in them, excluding time on CPU or on a run queue.
    pub total_s: f64,
}

/// Wait event of instance caging: all `cpu_count` slots for running sessions are taken.
pub const WAIT_CPU_QUANTUM: &str = "resmgr:cpu quantum";
/// Wait event of the hash directory: a bucket latch was held too long to keep spinning.
pub const WAIT_BUCKET_LATCH: &str = "latch: cache buffers chains";
/// Wait event of a single-block read from the data file.
pub const WAIT_SEQUENTIAL_READ: &str = "db file sequential read";
/// Wait event of a multi-block read from the data file, ahead of a scan.
pub const WAIT_SCATTERED_READ: &str = "db file scattered read";
/// Wait event of a block that another session is reading from the data file.
pub const WAIT_READ_BY_OTHER: &str = "read by other session";
/// Wait event of a block that gets no buffer until a database writer has written some.
pub const WAIT_FREE_BUFFER: &str = "free buffer waits";
/// Wait event of a buffer that another process is changing or copying.
pub const WAIT_BUFFER_BUSY: &str = "buffer busy waits";
/// Wait event of an idle parallel worker: other workers still scan, or the next scan has not begun.
pub const WAIT_FOR_WORK: &str = "PX Deq: Execution Msg";
