//! What is looked at: the machine and, where a target was named, its memory.

use model::{Fact, NodeSet, Residency, SegmentResidency, Topology};

/// Less shared memory than this is not worth a finding.
pub(super) const WORTH_BYTES: u64 = 16 << 20;

/// What is looked at.
#[derive(Clone, Debug, Default)]
pub struct Patient {
    /// The machine.
    pub topology: Topology,
    /// The memory of the target.
    pub residency: Option<Residency>,
}

impl Patient {
    /// Segments of shared memory that are worth a word.
    pub(super) fn shared(&self) -> impl Iterator<Item = &SegmentResidency> {
        let segments = self
            .residency
            .iter()
            .flat_map(|residency| &residency.segments);
        segments.filter(|of| of.kind.is_shared_memory() && of.bytes() >= WORTH_BYTES)
    }

    /// The nodes on whose CPUs some process of the target may run.
    pub(super) fn nodes_used(&self) -> NodeSet {
        let processes = self
            .residency
            .iter()
            .flat_map(|residency| &residency.processes);
        processes
            .flat_map(|process| process.nodes_of_cpus.iter())
            .collect()
    }
}

/// What a rule found.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// One sentence with its figures.
    pub message: String,
    /// What it rests on.
    pub evidence: Vec<Fact>,
    /// Commands.
    pub fix: Vec<String>,
}

/// A fact and its source.
pub(super) fn fact(source: impl Into<String>, value: impl ToString) -> Fact {
    Fact {
        source: source.into(),
        value: value.to_string(),
    }
}

/// Commands.
pub(super) fn commands(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}
