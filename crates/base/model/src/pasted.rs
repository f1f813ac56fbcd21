//! What pasted texts say of a machine beside its files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{CpuSet, NodeId};

/// How texts were read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// What was recognised, in the order of the text.
    pub parts: Vec<PastedPart>,
    /// How many lines with text were not recognised.
    pub other_lines: usize,
    /// What the reader should know of how it was read: one sentence each.
    pub remarks: Vec<String>,
    /// What to fetch next.
    pub fetch_next: Vec<Fetch>,
}

/// Something that was recognised in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastedPart {
    /// What it is: the command or the file that printed it.
    pub what: String,
    /// Where it begins: `article.txt:97`.
    pub place: String,
}

/// What is missing, and the command that prints it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetch {
    /// What it tells.
    pub what: String,
    /// The command, which changes nothing.
    pub command: String,
}

/// The free memory of nodes at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryMoment {
    /// Where the text says so: `article.txt:97`.
    pub place: String,
    /// Free bytes of each node.
    pub free_bytes: BTreeMap<NodeId, u64>,
}

/// The pages of the pools of huge pages of nodes at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolMoment {
    /// Where the text says so.
    pub place: String,
    /// Position among all that the texts say: what was said before is smaller.
    pub order: usize,
    /// All pages and free pages of each node.
    pub pages: BTreeMap<NodeId, (u64, u64)>,
}

/// CPUs given to a process or a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenCpus {
    /// Where the text says so.
    pub place: String,
    /// Position among all that the texts say.
    pub order: usize,
    /// The CPUs.
    pub cpus: CpuSet,
}
