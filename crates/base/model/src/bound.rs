//! The types of `numalab.bind/1`: a program started under a placement, and the result.

use serde::{Deserialize, Serialize};

use crate::{BytesByNode, CpuSet, Finding, NodeSet, ResidencyMethod};

/// A program that was started under a placement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BindReport {
    /// Its command line.
    pub command: Vec<String>,
    /// Its process.
    pub pid: u32,
    /// The placement requested.
    pub asked: BindAsked,
    /// Doubts found before the start.
    pub lints: Vec<Finding>,
    /// Number of inspections.
    pub looks: u32,
    /// Seconds from the start to the last inspection; `None` when the program ended before any.
    pub looked_after_s: Option<f64>,
    /// Whether the program reached the time or size at which to inspect it.
    pub trigger_reached: bool,
    /// The program's number of processes at the last inspection.
    pub processes: u32,
    /// Its private and shared memory, each page counted once.
    pub bytes_by_node: BytesByNode,
    /// Bytes whose node is not known.
    pub bytes_without_node: u64,
    /// How pages were found; `None` without an inspection.
    pub method: Option<ResidencyMethod>,
    /// Policies in force that were not requested.
    pub overrides: Vec<PolicyOverride>,
    /// How the placement was not honoured, one sentence each.
    pub contradictions: Vec<String>,
    /// Whether it was inspected and nothing contradicts the request.
    pub honoured: bool,
    /// The program's exit status as a shell reports it; `None` while it runs.
    pub exit_status: Option<u8>,
}

/// The placement requested.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BindAsked {
    /// CPUs that the program may use; `None` when none were named.
    pub cpus: Option<CpuSet>,
    /// The policy in the kernel's notation, as the kernel accepted it; `None` when none was named.
    pub policy: Option<String>,
    /// The nodes that the policy or the group names.
    pub memory_nodes: Option<NodeSet>,
    /// The processor group.
    pub group: Option<String>,
    /// CPU limit, in CPUs.
    pub cpu_limit: Option<f64>,
}

/// A policy that is in force for memory of the program and was not requested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyOverride {
    /// The processes' name.
    pub name: String,
    /// Their number.
    pub processes: u32,
    /// How it was set.
    pub how: OverrideKind,
    /// The policy in the kernel's notation.
    pub policy: String,
    /// Bytes under it, summed over the mappings of each process.
    pub bytes: u64,
}

/// How a policy was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverrideKind {
    /// set_mempolicy(2): the policy of the process.
    SetMempolicy,
    /// mbind(2) on its own memory.
    Mbind,
    /// mbind(2) on an object or file that other processes may share.
    MbindShared,
}

impl OverrideKind {
    /// Every kind with its description.
    pub const TABLE: [(OverrideKind, &'static str); 3] = [
        (
            OverrideKind::SetMempolicy,
            "set_mempolicy: the policy of the whole process",
        ),
        (OverrideKind::Mbind, "mbind on its own memory"),
        (
            OverrideKind::MbindShared,
            "mbind on a shared object, by this process or another that uses it",
        ),
    ];

    /// The description for people.
    pub fn words(self) -> &'static str {
        let row = Self::TABLE.iter().find(|(kind, _)| *kind == self);
        row.expect("the table has a row for every kind").1
    }
}
