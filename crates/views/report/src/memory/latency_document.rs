//! Latencies as the document `numalab.latency/1`.

use model::{
    CpuId, Finding, HopClass, LatencyCurve, LatencyMethod, LatencyResult, Machine, NodeId,
    NodeLink, PageWalks, TransferMatrix,
};
use serde::Serialize;
use verdict::common_of_cells;

use crate::memory::cells::{CellReason, cells_that, not_measured, values};

/// Name and version of the document.
pub const LATENCY_FORMAT: &str = "numalab.latency/1";

/// The document. The order of the fields here is their order in the document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LatencyDocument<'r> {
    format: &'static str,
    /// Ids of the stored runs behind the figures.
    runs: &'r [String],
    machine: Option<&'r Machine>,
    file: Option<&'r str>,
    note: Option<&'r str>,
    method: Option<&'r LatencyMethod>,
    cpu_nodes: &'r [NodeId],
    memory_nodes: &'r [NodeId],
    /// Medians; null where not measured.
    ns: Vec<Vec<Option<f64>>>,
    /// Ends of the intervals; null where too few rounds were measured for one.
    ns_low: Vec<Vec<Option<f64>>>,
    ns_high: Vec<Vec<Option<f64>>>,
    /// Minimum confidence of all intervals.
    confidence: f64,
    not_measured: Vec<CellReason<'r>>,
    unsteady: Vec<CellName>,
    /// The firmware's distances, in the rows and columns of `ns`.
    distances: Option<Vec<Vec<Option<u32>>>>,
    hop_classes: &'r [HopClass],
    links: &'r [NodeLink],
    findings: &'r [Finding],
    page_walks: Option<&'r PageWalks>,
    curves: &'r [LatencyCurve],
    transfers: Vec<TransferDocument<'r>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct CellName {
    cpu_node: NodeId,
    memory_node: NodeId,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct TransferDocument<'r> {
    home_node: NodeId,
    cpus: &'r [CpuId],
    ns: &'r [Vec<Option<f64>>],
}

/// Returns the latency document.
pub fn latency_document(result: &LatencyResult) -> LatencyDocument<'_> {
    let matrix = &result.matrix;
    let distances = result.distances.as_ref().map(|distances| {
        let row = |from: &NodeId| {
            let to = matrix.memory_nodes().iter();
            to.map(|to| distances.distance(*from, *to)).collect()
        };
        matrix.cpu_nodes().iter().map(row).collect()
    });
    LatencyDocument {
        format: LATENCY_FORMAT,
        runs: &result.runs,
        machine: result.machine.as_ref(),
        file: result.file.as_deref(),
        note: result.note.as_deref(),
        method: result.method.as_ref(),
        cpu_nodes: matrix.cpu_nodes(),
        memory_nodes: matrix.memory_nodes(),
        ns: values(matrix, |cell| cell.value),
        ns_low: values(matrix, |cell| cell.low),
        ns_high: values(matrix, |cell| cell.high),
        confidence: common_of_cells(matrix),
        not_measured: not_measured(matrix),
        unsteady: unsteady(result),
        distances,
        hop_classes: &result.hop_classes,
        links: &result.links,
        findings: &result.findings,
        page_walks: result.page_walks.as_ref(),
        curves: &result.curves,
        transfers: result.transfers.iter().map(transfer).collect(),
    }
}

fn unsteady(result: &LatencyResult) -> Vec<CellName> {
    let cells = cells_that(&result.matrix, |cell| cell.is_unsteady);
    let cells = cells.map(|(cpu_node, memory_node, _)| CellName {
        cpu_node,
        memory_node,
    });
    cells.collect()
}

fn transfer(matrix: &TransferMatrix) -> TransferDocument<'_> {
    TransferDocument {
        home_node: matrix.home_node,
        cpus: &matrix.cpus,
        ns: &matrix.ns,
    }
}
