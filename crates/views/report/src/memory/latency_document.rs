//! Latencies as the document `numalab.latency/1`.

use model::{
    CpuId, Finding, HopClass, LatencyCurve, LatencyMethod, LatencyResult, Machine, MatrixCell,
    NodeId, NodeLink, PageWalks, TransferMatrix,
};
use serde::Serialize;
use verdict::common_of_cells;

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
struct CellReason<'r> {
    cpu_node: NodeId,
    memory_node: NodeId,
    reason: Option<&'r str>,
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
    let cells = |of: fn(&MatrixCell) -> Option<f64>| -> Vec<Vec<Option<f64>>> {
        let rows = matrix.rows();
        rows.map(|(_, cells)| cells.iter().map(of).collect())
            .collect()
    };
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
        ns: cells(|cell| cell.value),
        ns_low: cells(|cell| cell.low),
        ns_high: cells(|cell| cell.high),
        confidence: common_of_cells(matrix),
        not_measured: not_measured(result),
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

fn not_measured(result: &LatencyResult) -> Vec<CellReason<'_>> {
    let missing = |cell: &MatrixCell| cell.value.is_none();
    let cells = cells_that(result, missing);
    let cells = cells.map(|(cpu_node, memory_node, cell)| CellReason {
        cpu_node,
        memory_node,
        reason: cell.absent_because.as_deref(),
    });
    cells.collect()
}

fn unsteady(result: &LatencyResult) -> Vec<CellName> {
    let cells = cells_that(result, |cell| cell.is_unsteady);
    let cells = cells.map(|(cpu_node, memory_node, _)| CellName {
        cpu_node,
        memory_node,
    });
    cells.collect()
}

/// Returns the `wanted` cells with their nodes.
fn cells_that(
    result: &LatencyResult,
    wanted: fn(&MatrixCell) -> bool,
) -> impl Iterator<Item = (NodeId, NodeId, &MatrixCell)> {
    let memory_nodes = result.matrix.memory_nodes();
    result.matrix.rows().flat_map(move |(cpu_node, cells)| {
        let cells = memory_nodes.iter().zip(cells);
        let cells = cells.filter(move |(_, cell)| wanted(cell));
        cells.map(move |(memory_node, cell)| (cpu_node, *memory_node, cell))
    })
}

fn transfer(matrix: &TransferMatrix) -> TransferDocument<'_> {
    TransferDocument {
        home_node: matrix.home_node,
        cpus: &matrix.cpus,
        ns: &matrix.ns,
    }
}
