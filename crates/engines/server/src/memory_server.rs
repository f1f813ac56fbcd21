//! A server of the tests: rows in this process's memory, sessions that read them in its threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use linux::Root;
use model::ServerKind;

use crate::{
    CacheMemory, Call, CounterReading, Counters, Done, Error, Listener, Loaded, Opener, Session,
    repeat,
};

/// What a server does wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Logical reads that it does not count, of a hundred.
    pub uncounted_pct: u64,
    /// Whether it reads from outside its cache.
    pub reads_outside: bool,
    /// Whether rows are others than were written.
    pub changes_rows: bool,
    /// Whether a session ends with an error.
    pub fails: bool,
}

/// A server with rows in memory. The whole process does the work of all its sessions.
pub(crate) struct MemoryServer {
    sessions: u32,
    fault: Fault,
    rows: Arc<Vec<u64>>,
    reads: Arc<AtomicU64>,
}

impl MemoryServer {
    pub(crate) fn new(sessions: u32, fault: Fault) -> Self {
        let mut rows: Vec<u64> = (0..4096).map(|key| 7 * key).collect();
        if fault.changes_rows {
            rows.fill(1);
        }
        MemoryServer {
            sessions,
            fault,
            rows: Arc::new(rows),
            reads: Arc::default(),
        }
    }
}

impl Loaded for MemoryServer {
    fn kind(&self) -> ServerKind {
        ServerKind::named("postgres")
    }

    /// As one of others, so that no range of a cache is needed.
    fn is_ours(&self) -> bool {
        false
    }

    fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    fn openers(&self, seed: u64) -> Vec<Opener> {
        let opener = |session: u32| -> Opener {
            let (rows, reads) = (Arc::clone(&self.rows), Arc::clone(&self.reads));
            let (fault, key) = (self.fault, seed.wrapping_add(u64::from(session)));
            Box::new(move |listener| {
                Ok(Box::new(MemorySession {
                    listener,
                    rows,
                    reads,
                    key,
                    fault,
                    is_stopped: Arc::default(),
                }))
            })
        };
        (0..self.sessions).map(opener).collect()
    }

    fn reads_per_statement(&mut self, work_unit: u32, _: u64) -> Result<f64, Error> {
        Ok(f64::from(work_unit))
    }

    fn counters(&mut self) -> Result<Counters, Error> {
        let count = self.reads.load(Ordering::Relaxed);
        let reading = CounterReading {
            source: "reads",
            count: count - count / 100 * self.fault.uncounted_pct,
        };
        Ok(Counters {
            reads: vec![reading],
            from_outside: if self.fault.reads_outside { count } else { 0 },
        })
    }

    fn session_counter(&self) -> &'static str {
        "none"
    }

    fn cache(&mut self, _: &Root) -> Result<CacheMemory, Error> {
        Err(Error::answer("the cache", "a range", "none"))
    }

    fn processes(&self, _: &Root) -> Vec<u32> {
        Vec::new()
    }
}

struct MemorySession {
    listener: Listener,
    rows: Arc<Vec<u64>>,
    reads: Arc<AtomicU64>,
    key: u64,
    fault: Fault,
    is_stopped: Arc<AtomicBool>,
}

impl Session for MemorySession {
    fn task(&self) -> Option<u32> {
        Some(std::process::id())
    }

    fn stop(&self) -> Box<dyn FnOnce() + Send> {
        let is_stopped = Arc::clone(&self.is_stopped);
        Box::new(move || is_stopped.store(true, Ordering::Relaxed))
    }

    fn call(&mut self, work_unit: u32, call: &Call) -> Result<Done, Error> {
        let MemorySession { rows, reads, .. } = self;
        let unit = u64::from(work_unit);
        let mut key = self.key;
        let has_failed = self.fault.fails;
        let is_stopped = &self.is_stopped;
        repeat(call, &self.listener, Some(std::process::id()), || {
            if has_failed || is_stopped.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            key = key.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let first = (key >> 33) % (rows.len() as u64 - unit + 1);
            let read = &rows[first as usize..(first + unit) as usize];
            reads.fetch_add(unit, Ordering::Relaxed);
            let expected = 7 * unit * (2 * first + unit - 1) / 2;
            Ok(read.iter().sum::<u64>() == expected)
        })
    }

    fn hand_in(&mut self) -> Result<Option<u64>, Error> {
        Ok(None)
    }
}
