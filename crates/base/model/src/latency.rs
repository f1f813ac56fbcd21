//! The types of `numalab.latency/1`: measured memory latency and its analysis.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    CpuId, DistanceTable, Finding, Machine, NodeId, NodeMatrix, NodeSet, PageKind, TimerFacts,
};

/// Measured latencies and everything derived from them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LatencyResult {
    /// The stored runs it was derived from, in the order of its parts; none for a matrix read from
    /// a file.
    pub runs: Vec<String>,
    /// The machine it was measured on; `None` for a matrix read from a file.
    pub machine: Option<Machine>,
    /// The file the matrix was read from; `None` for a measured one.
    pub file: Option<String>,
    /// A note on the file's figures.
    pub note: Option<String>,
    /// How it was measured; `None` for a matrix read from a file.
    pub method: Option<LatencyMethod>,
    /// Medians in ns with their intervals.
    pub matrix: NodeMatrix,
    /// The firmware's distances, if known.
    pub distances: Option<DistanceTable>,
    /// The nodes that measure alike, row by row.
    pub hop_classes: Vec<HopClass>,
    /// Nodes that are adjacent, as far as the figures show.
    pub links: Vec<NodeLink>,
    /// What a user should know.
    pub findings: Vec<Finding>,
    /// The cost of page walks, where it was measured.
    pub page_walks: Option<PageWalks>,
    /// Latency by working set.
    pub curves: Vec<LatencyCurve>,
    /// Transfers of a cache line between CPUs.
    pub transfers: Vec<TransferMatrix>,
}

/// The same cell with the matrix's pages and with small pages in random order: the difference is
/// the cost of page walks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageWalks {
    /// The node whose CPU measured.
    pub cpu_node: NodeId,
    /// The node whose memory was read.
    pub memory_node: NodeId,
    /// Size of a small page.
    pub page_bytes: u64,
    /// With the matrix's pages.
    pub ns_without: f64,
    /// With small pages, in random order.
    pub ns_with: f64,
    /// Lower end of the interval of `ns_with`.
    pub low: Option<f64>,
    /// Upper end of it.
    pub high: Option<f64>,
}

/// How latencies were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyMethod {
    /// Where the pages came from.
    pub page_kind: PageKind,
    /// Their real size.
    pub page_bytes: u64,
    /// Memory that one lap of the chase visits, every line of it once.
    pub working_set_bytes: u64,
    /// Whether only lines were timed that no cache had held since they were flushed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first_visits: bool,
    /// Pages that the chase visits at random before it moves on to other pages; `None`: all.
    pub tlb_group_pages: Option<u32>,
    /// Rounds, each with fresh memory and a new order.
    pub rounds: u32,
    /// Windows timed in one round.
    pub samples_per_round: u32,
    /// Seed of all orders.
    pub seed: u64,
    /// The clock.
    pub timer: TimerFacts,
}

/// Memory nodes that measure alike from one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HopClass {
    /// The node whose CPUs measured.
    pub cpu_node: NodeId,
    /// Its number in the row: 0 is the nearest.
    pub class: u32,
    /// The memory nodes in it.
    pub memory_nodes: NodeSet,
    /// The smallest figure in it.
    pub ns_min: f64,
    /// The median figure.
    pub ns: f64,
    /// The largest figure.
    pub ns_max: f64,
    /// The firmware's distances to these nodes, ascending, each once; empty when not known.
    pub distances: Vec<u32>,
}

/// Hop classes by the node that measured them, of which each has few.
#[derive(Debug, Clone)]
pub struct ClassesByRow<'r>(BTreeMap<NodeId, Vec<&'r HopClass>>);

impl LatencyResult {
    /// The hop classes, for whoever asks for every cell.
    pub fn classes_by_row(&self) -> ClassesByRow<'_> {
        let mut rows: BTreeMap<NodeId, Vec<&HopClass>> = BTreeMap::new();
        for class in &self.hop_classes {
            rows.entry(class.cpu_node).or_default().push(class);
        }
        ClassesByRow(rows)
    }
}

impl<'r> ClassesByRow<'r> {
    /// The classes that a node measured; none if it measured nothing.
    pub fn row(&self, from: NodeId) -> &[&'r HopClass] {
        self.0.get(&from).map_or(&[], Vec::as_slice)
    }

    /// The class of a node in the row of another.
    pub fn class(&self, from: NodeId, to: NodeId) -> Option<&'r HopClass> {
        let mut row = self.row(from).iter().copied();
        row.find(|class| class.memory_nodes.contains(to))
    }
}

/// Two adjacent nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeLink {
    /// The node with the smaller id.
    pub from: NodeId,
    /// The other.
    pub to: NodeId,
    /// Whether both directions were measured and agree.
    pub is_mutual: bool,
}

/// Latency by working set, for one pair of nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyCurve {
    /// The node whose CPU measured.
    pub cpu_node: NodeId,
    /// The node whose memory was read.
    pub memory_node: NodeId,
    /// The CPU that measured.
    pub cpu: CpuId,
    /// Where the pages came from.
    pub page_kind: PageKind,
    /// Their real size.
    pub page_bytes: u64,
    /// By ascending working set.
    pub points: Vec<CurvePoint>,
    /// The cache levels found from the curve, the nearest first; the last is memory.
    pub levels: Vec<CurveLevel>,
}

/// One point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Working set.
    pub bytes: u64,
    /// Median latency of one access.
    pub ns: f64,
    /// The fastest window.
    pub ns_min: f64,
    /// The slowest window.
    pub ns_max: f64,
}

/// One level of the memory hierarchy, found from a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurveLevel {
    /// Latency while the working set fits into it.
    pub ns: f64,
    /// The largest working set measured that still fits; `None` for the last level.
    pub fits_bytes: Option<u64>,
}

/// Transfers of one cache line between CPUs: from the CPU that last wrote it to the CPU that reads
/// it next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransferMatrix {
    /// The node whose memory holds the line.
    pub home_node: NodeId,
    /// CPUs of rows and columns, in their order.
    pub cpus: Vec<CpuId>,
    /// One-way time in ns: half of the median round trip. `None` on the diagonal and where nothing
    /// was measured.
    pub ns: Vec<Vec<Option<f64>>>,
}
