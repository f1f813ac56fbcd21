//! Memory and CPU of one measurement as the kernel reports them, read before and after it.
//!
//! Requested values are never stored here. Values that could not be read are `None`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{CpuSet, NodeId, PageKind};

/// The evidence of one measurement by one CPU on its own memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasurementEvidence {
    /// CPUs the measuring thread could run on.
    pub cpus_allowed: CpuSet,
    /// CPUs it was found on, before the first window, after the last and in between.
    pub cpus_used: CpuSet,
    /// Where its memory lay before the first window.
    pub memory_before: MemoryEvidence,
    /// Where it lay after the last.
    pub memory_after: MemoryEvidence,
    /// Time the thread spent ready but not running.
    pub run_queue_wait_ns: Option<u64>,
    /// Pages the kernel's NUMA balancing moved on the whole machine during the measurement
    /// (`numa_pages_migrated` of /proc/vmstat).
    pub numa_pages_migrated: Option<u64>,
    /// Seconds the hypervisor gave to other guests during it, all CPUs (`steal` of /proc/stat).
    pub steal_s: Option<f64>,
}

/// Where one piece of private memory lies (`numa_maps` and `smaps`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryEvidence {
    /// The kind of its pages; transparent only when all of them are.
    pub page_kind: PageKind,
    /// Their real size.
    pub page_bytes: u64,
    /// Policy in the kernel's notation.
    pub policy: String,
    /// Bytes by node.
    pub bytes_by_node: BTreeMap<NodeId, u64>,
    /// Bytes of pages that do not exist.
    pub bytes_without_node: u64,
}
