//! The machine that was measured, and the clock that timed it.

use serde::{Deserialize, Serialize};

use crate::{NamedCache, Topology, WorkingSet};

/// The machine a run was made on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// `uname -n`.
    pub host: String,
    /// `uname -r`.
    pub kernel: String,
    /// `model name` of /proc/cpuinfo.
    pub cpu_model: Option<String>,
    /// Hypervisor signature of CPUID leaf 0x40000000, if a hypervisor announces itself.
    pub hypervisor: Option<String>,
    /// Whether the machine is emulated in software: then its nodes are equally far, and no speed
    /// measured on it is meaningful. `None` where neither CPUID nor a file tells.
    pub emulated: Option<bool>,
    /// Version of numalab.
    pub numalab: String,
    /// The size of its last-level caches used for planning, named by the user or measured;
    /// `topology` contains it, too. Omitted from the document where plans use the size that the
    /// kernel reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_level_cache: Option<NamedCache>,
    /// The working set of latencies, where it was searched for. Omitted otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_set: Option<WorkingSet>,
    /// The topology.
    pub topology: Topology,
}

/// A clock and its quality.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TimerFacts {
    /// Its source.
    pub source: TimerSource,
    /// Ticks per second.
    pub ticks_per_s: f64,
    /// The smallest step seen.
    pub precision_ns: f64,
    /// The cost of one reading: the median of many, back to back.
    pub overhead_ns: f64,
}

/// The source of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimerSource {
    /// The time stamp counter of x86, where it ticks at a constant rate in all states.
    Tsc,
    /// The virtual counter of arm64 (`CNTVCT_EL0`).
    VirtualCounter,
    /// `CLOCK_MONOTONIC`.
    ClockMonotonic,
}
