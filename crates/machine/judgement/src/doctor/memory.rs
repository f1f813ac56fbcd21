//! The memory of a target as findings see it: its shared segments, the nodes that use it, and where
//! that was read.

use model::{NodeSet, Residency, ResidencyMethod, SegmentResidency};

/// Less shared memory than this is not worth a finding.
pub(crate) const WORTH_BYTES: u64 = 16 << 20;

/// Segments of shared memory that are large enough for a finding.
pub(crate) fn shared(residency: &Residency) -> impl Iterator<Item = &SegmentResidency> {
    let segments = residency.segments.iter();
    segments.filter(|of| of.kind.is_shared_memory() && of.bytes() >= WORTH_BYTES)
}

/// The nodes on whose CPUs some process of the target may run.
pub(crate) fn nodes_used(residency: &Residency) -> NodeSet {
    let processes = residency.processes.iter();
    processes
        .flat_map(|process| process.nodes_of_cpus.iter())
        .collect()
}

/// The source of the nodes of pages.
pub(crate) fn source(residency: &Residency) -> &'static str {
    match residency.method {
        ResidencyMethod::Pagemap | ResidencyMethod::PagemapSampled => {
            "/proc/PID/pagemap and the memory blocks of each node"
        }
        ResidencyMethod::NumaMaps => "/proc/PID/numa_maps",
    }
}
