//! What a server, its load and a trial of it are to be like, and who watches the trial.

use std::path::PathBuf;

use model::{Allocation, CpuSet, LoadPlan, Phase, Placement, SgaPlan};

/// Bytes of one block: PostgreSQL's default, which every package keeps.
pub(crate) const BLOCK_BYTES: u64 = 8192;
/// Room in the shared buffers for catalogs.
const CATALOG_BYTES: u64 = 32 << 20;
/// Room for indexes: one entry of 16 bytes and its 4 of line pointer for each block, generously.
const INDEX_SHARE: u64 = 64;

/// One server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerPlan {
    /// How its processes are placed.
    pub placed: Placed,
    /// Whether its shared memory comes from the pool of huge pages.
    pub huge_pages: bool,
    /// The tables and who reads them.
    pub tables: TablesPlan,
}

/// How processes are placed.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// CPUs and memory nodes.
    pub placement: Placement,
    /// The cgroups that were made for it: a processor group, a quota.
    pub groups: Vec<PathBuf>,
    /// The memory policy of all its processes.
    pub allocation: Allocation,
    /// The CPUs of the backend that loads and prewarms; `None`: as placed.
    pub prewarm_cpus: Option<CpuSet>,
}

/// The tables and who reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TablesPlan {
    /// Sessions, and tables: each has its own.
    pub sessions: u32,
    /// Bytes of all tables together.
    pub cache_bytes: u64,
}

/// What a trial is to be like, apart from its server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialOrder {
    /// Seed of the physical order of rows and of the keys that are read.
    pub seed: u64,
    /// Rows per statement.
    pub work_unit: u32,
    /// Length of the window.
    pub window_s: f64,
    /// Shortest warm-up.
    pub warm_up_s_min: f64,
    /// Longest warm-up.
    pub warm_up_s_max: f64,
}

/// Who watches a trial.
pub struct Watch<'a> {
    /// Told what it does, with the live logical reads per second when there are any.
    pub live: &'a mut dyn FnMut(Phase, Option<f64>),
    /// Whether it is to stop.
    pub cancelled: &'a dyn Fn() -> bool,
}

impl TablesPlan {
    /// What a case asks for.
    pub fn of(sga: &SgaPlan, load: &LoadPlan) -> Self {
        TablesPlan {
            sessions: load.sessions,
            cache_bytes: sga.cache_bytes,
        }
    }

    /// Rows of one table, which are its blocks.
    pub fn rows_per_table(&self) -> u32 {
        let rows = self.cache_bytes / BLOCK_BYTES / u64::from(self.sessions.max(1));
        u32::try_from(rows).unwrap_or(u32::MAX)
    }

    /// `shared_buffers` in blocks.
    pub(crate) fn shared_buffers(&self) -> u64 {
        let bytes = self.cache_bytes + self.cache_bytes / INDEX_SHARE + CATALOG_BYTES;
        bytes.div_ceil(BLOCK_BYTES)
    }
}
