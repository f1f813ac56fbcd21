//! The types of `numalab.firsttouch/1`: who touched which memory first, and where it is now.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{BytesByNode, NodeId, NodeSet, SegmentKind};

/// Who touched the memory of some processes first, as far as it was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FirstTouch {
    /// The target, or the program that was started.
    pub target: String,
    /// Whether numalab started the program, and so saw it from its start on.
    pub from_start: bool,
    /// How long numalab looked.
    pub seconds: f64,
    /// Whether everything was seen that can be seen. If not, all figures of touches are lower
    /// bounds, and `gaps` says why.
    pub complete: bool,
    /// Reasons why figures are incomplete, one sentence each.
    pub gaps: Vec<String>,
    /// Page faults of the target that were seen.
    pub faults: u64,
    /// Events that the kernel dropped because a buffer was full: faults of the target or, where the
    /// whole machine was recorded, of other processes.
    pub lost_events: u64,
    /// Whether faults inside system calls were seen, as when read(2) fills a buffer.
    pub has_kernel_mode: bool,
    /// Nodes of the machine that have memory.
    pub memory_nodes: NodeSet,
    /// The processes that had page faults.
    pub processes: Vec<TouchingProcess>,
    /// Shared memory, that with the most pages first.
    pub segments: Vec<TouchedSegment>,
    /// Page faults in private memory and in files, by class of process, the most first.
    pub private: Vec<PrivateFaults>,
    /// The tables and indexes that a database has in its buffers at the end of the look, that with
    /// the most buffers first; `None` when nobody asked for them.
    #[serde(default)]
    pub relations: Option<Vec<TouchedRelation>>,
}

/// A table or index whose blocks lie in buffers: who touched these buffers' pages first, whatever
/// they held then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedRelation {
    /// Its database; `None` when it is of none or its name is unknown.
    pub database: Option<String>,
    /// Its name with its schema; `None` when unknown.
    pub name: Option<String>,
    /// Its kind, such as `table`.
    pub kind: Option<String>,
    /// The name of its file.
    pub filenode: u32,
    /// Size of its blocks in the buffers.
    pub bytes: u64,
    /// Who touched their pages first, by class and node of the CPU, the most first.
    pub touched: Vec<RelationTouch>,
    /// The part on pages that were there before the look.
    pub before_bytes: u64,
    /// The part on pages whose first touch was not seen.
    pub unseen_bytes: u64,
}

/// First touches of pages under the blocks of one relation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelationTouch {
    /// The class of the processes.
    pub class: String,
    /// The node of their CPUs; `None` when the machine does not tell.
    pub cpu_node: Option<NodeId>,
    /// Bytes of blocks.
    pub bytes: u64,
}

/// A process that touched memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchingProcess {
    /// Its id.
    pub pid: u32,
    /// `comm`.
    pub name: String,
    /// Its function, for processes that a database names; otherwise its name.
    pub class: String,
    /// Whether it ended while numalab looked.
    pub has_ended: bool,
}

/// One shared object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TouchedSegment {
    /// Its name in /proc/PID/maps.
    pub name: String,
    /// What kind of object it is.
    pub kind: SegmentKind,
    /// Size of its pages.
    pub page_bytes: u64,
    /// Length of its mappings.
    pub mapped_bytes: u64,
    /// Number of processes that mapped it.
    pub processes: u32,
    /// Pages whose first touch was seen.
    pub touched_bytes: u64,
    /// Pages in memory now that were there before the look. `None` when where the pages are now is
    /// unknown.
    pub before_bytes: Option<u64>,
    /// Pages in memory now that came later and whose first touch was not seen: the kernel populated
    /// them, or events were lost.
    pub unseen_bytes: Option<u64>,
    /// Where the pages are now; `None` when no process has it mapped any more, or none may be read.
    pub bytes_by_node: Option<BytesByNode>,
    /// Who touched it, by process and node of its CPU, the most first.
    pub touchers: Vec<Toucher>,
    /// First touches by time and offset; `None` when none was seen.
    pub picture: Option<TouchPicture>,
}

/// What one process touched of one segment from the CPUs of one node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Toucher {
    /// The process.
    pub pid: u32,
    /// Its class.
    pub class: String,
    /// The node of the CPU; `None` when the machine does not tell.
    pub cpu_node: Option<NodeId>,
    /// Pages that it touched before all others.
    pub bytes: u64,
    /// Page faults on pages that another process, or this one on another node, had touched before,
    /// or that were there before the look: it uses them.
    pub later_faults: u64,
    /// When it first touched a page before all others, in s from the start.
    pub first_s: Option<f64>,
    /// When it last did.
    pub last_s: Option<f64>,
    /// Where those pages are now; `None` when that is unknown.
    pub bytes_by_node: Option<BytesByNode>,
}

/// First touches of a segment in a grid of time and offset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TouchPicture {
    /// Number of columns, over `mapped_bytes` of the segment.
    pub columns: u32,
    /// Number of rows, from `first_s` to `last_s`.
    pub rows: u32,
    /// Time of the first touch, in s from the start.
    pub first_s: f64,
    /// Time of the last one.
    pub last_s: f64,
    /// The cells that have any, row by row.
    pub cells: Vec<TouchCell>,
}

/// One cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TouchCell {
    /// From 0, by offset.
    pub column: u32,
    /// From 0, by time.
    pub row: u32,
    /// Pages first touched there and then, by node of the CPU.
    pub bytes_by_cpu_node: BytesByNode,
}

/// Page faults of a class of processes outside of shared memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivateFaults {
    /// The class.
    pub class: String,
    /// Number of processes.
    pub processes: u32,
    /// Page faults, by node of the CPU. A huge page is one fault.
    pub faults_by_cpu_node: BTreeMap<NodeId, u64>,
}
