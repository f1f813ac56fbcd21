//! What the sessions of an instance do when they do not read rows: work in memory of their own.

use serde::{Deserialize, Serialize};

use crate::{Allocation, LogicalReads, Metric};

/// Sessions of the embedded instance, each at work in memory of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnMemoryWork {
    /// The sessions, and the shared memory they meet in.
    #[serde(flatten)]
    pub instance: LogicalReads,
    /// The work, and the memory.
    pub own: OwnMemory,
}

/// Memory that one session has for itself, and what it does there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnMemory {
    /// What it does.
    pub load: SessionLoad,
    /// Bytes of each session; means nothing to [`SessionLoad::Spin`], which has none.
    pub bytes: u64,
    /// Where they are to lie.
    pub allocation: Allocation,
}

/// What a session does in memory of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionLoad {
    /// It stores at random.
    MemoryHammer,
    /// It sorts and joins, and reads rows from the buffer cache in between.
    Compute,
    /// It writes a file in /dev/shm, again and again.
    ShmFill,
    /// It computes without memory.
    Spin,
}

impl SessionLoad {
    /// What cases of this load are compared by.
    pub fn metric(self) -> Metric {
        match self {
            SessionLoad::MemoryHammer => Metric::NsPerStore,
            SessionLoad::Compute => Metric::RowsPerSecond,
            SessionLoad::ShmFill => Metric::BytesPerSecond,
            SessionLoad::Spin => Metric::StepsPerSecond,
        }
    }

    /// Whether it has memory of its own at all.
    pub fn has_memory(self) -> bool {
        self != SessionLoad::Spin
    }
}
