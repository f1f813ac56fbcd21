//! The words of `numalab.bind/1`: a program started under a placement, and what came of that.

use serde::{Deserialize, Serialize};

use crate::{BytesByNode, CpuSet, Finding, NodeSet, ResidencyMethod};

/// A program that was started under a placement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BindReport {
    /// Its words.
    pub command: Vec<String>,
    /// Its process.
    pub pid: u32,
    /// What was asked for.
    pub asked: BindAsked,
    /// What was doubtful before the start.
    pub lints: Vec<Finding>,
    /// How often was looked.
    pub looks: u32,
    /// Seconds from the start to the last look; `None` when the program ended before any.
    pub looked_after_s: Option<f64>,
    /// Whether the time or the size was reached at which it was to be looked.
    pub trigger_reached: bool,
    /// How many processes the program was at the last look.
    pub processes: u32,
    /// Its private and shared memory, each page counted once.
    pub bytes_by_node: BytesByNode,
    /// Bytes whose node is not known.
    pub bytes_without_node: u64,
    /// How pages were found; `None` without a look.
    pub method: Option<ResidencyMethod>,
    /// Policies in force that were not asked for.
    pub overrides: Vec<PolicyOverride>,
    /// In what the placement was not honoured, one sentence each.
    pub contradictions: Vec<String>,
    /// Whether it was looked at and nothing contradicts what was asked for.
    pub honoured: bool,
    /// What a shell sees of the program's end; `None` while it runs.
    pub exit_status: Option<u8>,
}

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BindAsked {
    /// CPUs that the program may use; `None` when none were named.
    pub cpus: Option<CpuSet>,
    /// The policy in the kernel's words, as the kernel took it; `None` when none was named.
    pub policy: Option<String>,
    /// The nodes that the policy or the group names.
    pub memory_nodes: Option<NodeSet>,
    /// The processor group.
    pub group: Option<String>,
    /// CPU time in CPUs.
    pub cpu_limit: Option<f64>,
}

/// A policy that is in force for memory of the program and was not asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyOverride {
    /// The processes' name.
    pub name: String,
    /// How many of them.
    pub processes: u32,
    /// How it came about.
    pub how: OverrideKind,
    /// The policy in the kernel's words.
    pub policy: String,
    /// Memory under it, as each process has it mapped.
    pub bytes: u64,
}

/// How a policy came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverrideKind {
    /// set_mempolicy(2): the policy of the process.
    SetMempolicy,
    /// mbind(2) on memory of its own.
    Mbind,
    /// mbind(2) on an object or file that other processes may have, too.
    MbindShared,
}

impl OverrideKind {
    /// Every kind with its words.
    pub const TABLE: [(OverrideKind, &'static str); 3] = [
        (
            OverrideKind::SetMempolicy,
            "set_mempolicy: the policy of the whole process",
        ),
        (OverrideKind::Mbind, "mbind on memory of its own"),
        (
            OverrideKind::MbindShared,
            "mbind on a shared object, by it or by another that has it",
        ),
    ];

    /// The words for people.
    pub fn words(self) -> &'static str {
        let row = Self::TABLE.iter().find(|(kind, _)| *kind == self);
        row.expect("the table has a row for every kind").1
    }
}
