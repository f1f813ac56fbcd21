//! The types of `numalab.doctor/1`: what is wrong, and one cure for memory that lies wrong.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::{Coverage, CpuSet, Finding, Reading, ShellLine};

/// What the doctor says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Which checks were made.
    #[serde(flatten)]
    pub coverage: Coverage,
    /// What is wrong, the most severe first.
    pub findings: Vec<Finding>,
    /// What to do about the findings on where memory lies; `None` if there are none, or no better
    /// place is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<CurePlan>,
    /// Whether the cure is in force that was to be verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force: Option<CureInForce>,
    /// The text that it was read from, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_from: Option<Reading>,
}

/// One cure, what it is expected to give, and how to follow it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CurePlan {
    /// Where the memory goes, in the words of `numalab move --to`, or the CPUs, in those of
    /// `numalab try --to`.
    pub cure: String,
    /// The CPUs that all threads get; `None` if the cure leaves them theirs, as in documents of
    /// older versions.
    #[serde(default)]
    pub cpus: Option<CpusOfCure>,
    /// Whether all memory of the target goes there; else its shared memory alone.
    pub moves_private_memory: bool,
    /// Bytes that are on another node than they would be.
    pub bytes_to_move: u64,
    /// What measured the latencies that distances are; `None` if they are the firmware's.
    #[serde(default)]
    pub distances_by: Option<String>,
    /// The memory as it lies now.
    pub before: MemoryFigures,
    /// The memory as the cure puts it.
    pub after: MemoryFigures,
    /// The best cure of another kind, and the memory as it would put it.
    pub runner_up: Option<OtherCure>,
    /// Cures that have no room, and the node that lacks it: one sentence each.
    pub no_room: Vec<String>,
    /// What to do now: commands, and remarks that begin with `#`.
    pub now: Vec<ShellLine>,
    /// How to take that back.
    pub undo: Vec<ShellLine>,
    /// What makes it so for good.
    pub for_good: Vec<ShellLine>,
    /// The files that the part for good writes; documents of older versions have none.
    #[serde(default)]
    pub files: Vec<PlanFile>,
    /// How to see that it is in force.
    pub verify: Vec<ShellLine>,
    /// What the plan leaves: the sentence of each finding that appears once it was followed.
    pub leaves: Vec<String>,
}

/// A file that makes a cure so for good.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFile {
    /// Where it belongs: an absolute path.
    pub path: String,
    /// Its content.
    pub text: String,
    /// The command that makes it count.
    pub then: ShellLine,
}

impl CurePlan {
    /// The most that the cure can save of the time of the target's CPUs, 0 to 1: if all of it is
    /// accesses to memory, and these take as long as the distances say. 0 if it saves nothing.
    pub fn gain_at_most(&self) -> f64 {
        (-self.before.cpu_time_change(&self.after)).max(0.0)
    }
}

/// The CPUs that a cure leaves to a target, and what it used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpusOfCure {
    /// The CPUs.
    pub cpus: CpuSet,
    /// Number of CPUs that it may use now.
    pub of: usize,
    /// CPUs that it used, on average since its first process started or in the last second,
    /// whichever is more; `None` where that is unknown.
    pub used: Option<f64>,
}

impl CpusOfCure {
    /// Whether what it used fits; what is unknown does not.
    pub fn fits(&self) -> bool {
        self.used.is_some_and(|used| used <= self.cpus.len() as f64)
    }

    /// Whether it has fewer CPUs then.
    pub fn takes_some_away(&self) -> bool {
        self.of > self.cpus.len()
    }
}

/// A cure that was not chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OtherCure {
    /// The cure, in the words of the plan's.
    pub cure: String,
    /// The CPUs that all threads would get.
    #[serde(default)]
    pub cpus: Option<CpusOfCure>,
    /// The memory as it would put it.
    pub after: MemoryFigures,
}

/// What a layout of memory means for those that use it, if every byte is used alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryFigures {
    /// Share of accesses that go to another node, 0 to 1.
    pub remote_share: f64,
    /// Mean distance of an access, as a multiple of a local one: by measured latencies, or by the
    /// firmware's distances.
    pub relative_access: f64,
    /// Share of the memory on the node that has most of it, 0 to 1.
    pub fullest_share: f64,
    /// Mean latency of an access in ns; `None` where latencies were not measured, and in documents
    /// of older versions.
    #[serde(default)]
    pub latency_ns: Option<f64>,
    /// The largest part of the accesses that a node's memory has, as a multiple of its part of the
    /// bandwidth; `None` where bandwidths are not known, and in documents of older versions.
    #[serde(default)]
    pub busiest_load: Option<f64>,
}

impl MemoryFigures {
    /// By how much CPU time changes at most from this layout to `after`, as a share of it: if all
    /// of it is accesses to memory that take as long as the distances say. Below 0 it falls.
    pub fn cpu_time_change(&self, after: &MemoryFigures) -> f64 {
        match self.relative_access > 0.0 {
            true => after.relative_access / self.relative_access - 1.0,
            false => 0.0,
        }
    }
}

/// Whether a cure is in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CureInForce {
    /// The cure, in the words of the plan's.
    pub cure: String,
    /// Whether all threads run on the CPUs that the cure names; `None` if it names none.
    #[serde(default)]
    pub threads_are_there: Option<bool>,
    /// The memory as it lies now.
    pub now: MemoryFigures,
    /// The memory as the cure puts it.
    pub wanted: MemoryFigures,
    /// Whether memory that exists lies as the cure puts it, but for 2 % of it.
    pub is_there: bool,
    /// Why memory that is allocated later will lie elsewhere; empty if it will not.
    pub later: Vec<String>,
}

impl CureInForce {
    /// Whether it is in force, for memory that exists and for memory that comes later.
    pub fn holds(&self) -> bool {
        self.is_there && self.threads_are_there != Some(false) && self.later.is_empty()
    }
}

/// A stored diagnosis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptDiagnosis {
    /// The target, as the user named it; `None` if only the machine was examined.
    pub target: Option<String>,
    /// What the doctor said.
    pub diagnosis: Diagnosis,
    /// What the firmware and the kernel call the machine and themselves, by the names of the
    /// kernel: `product_name`, `bios_version`, `microcode`, …. What may not be read is missing.
    pub identity: BTreeMap<String, String>,
    /// Memory modules in slots, by size in bytes; `None` where the firmware's table may not be
    /// read.
    pub memory_modules: Option<BTreeMap<u64, u32>>,
}
