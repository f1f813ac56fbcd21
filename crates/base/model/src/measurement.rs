//! What the kernel says of the memory and the CPU of one measurement, read back around it.
//!
//! A requested value is never stored here. What could not be read is `None`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{CpuSet, NodeId, PageKind};

/// The evidence of one measurement by one CPU on memory of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasurementEvidence {
    /// CPUs the measuring thread could run on.
    pub cpus_allowed: CpuSet,
    /// CPUs it was found on, before the first window, after the last and between them.
    pub cpus_used: CpuSet,
    /// Where its memory lay before the first window.
    pub memory_before: MemoryEvidence,
    /// Where it lay after the last.
    pub memory_after: MemoryEvidence,
    /// Time the thread spent ready but not running.
    pub run_queue_wait_ns: Option<u64>,
    /// Pages the kernel's balancing moved on the whole machine meanwhile
    /// (`numa_pages_migrated` of /proc/vmstat).
    pub numa_pages_migrated: Option<u64>,
    /// Seconds the hypervisor gave to others meanwhile, over all CPUs (`steal` of /proc/stat).
    pub steal_s: Option<f64>,
}

/// Where one piece of private memory lies (`numa_maps` and `smaps`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryEvidence {
    /// What kind its pages are; transparent only when all of them are.
    pub page_kind: PageKind,
    /// Their real size.
    pub page_bytes: u64,
    /// Policy in the kernel's words.
    pub policy: String,
    /// Bytes by node.
    pub bytes_by_node: BTreeMap<NodeId, u64>,
    /// Bytes of pages that do not exist.
    pub bytes_without_node: u64,
}
