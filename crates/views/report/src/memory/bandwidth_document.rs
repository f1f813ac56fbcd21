//! Bandwidths as the document `numalab.bandwidth/1`.

use model::{
    BandwidthMethod, BandwidthResult, Finding, LoadLadder, Machine, MatrixCell, NodeId,
    StreamKernel, ThreadSweep, WholeMachine,
};
use serde::Serialize;
use verdict::common_of_cells;

/// Name and version of the document.
pub const BANDWIDTH_FORMAT: &str = "numalab.bandwidth/1";

/// The document. The order of the fields here is their order in the document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BandwidthDocument<'r> {
    format: &'static str,
    /// Ids of the stored runs behind the figures.
    runs: &'r [String],
    machine: Option<&'r Machine>,
    kernel: StreamKernel,
    /// Maximum bytes on the memory bus per byte that the program moves: write allocate.
    traffic_factor_max: f64,
    method: Option<&'r BandwidthMethod>,
    cpu_nodes: &'r [NodeId],
    memory_nodes: &'r [NodeId],
    /// Medians of the bytes that the program moved; null where not measured.
    bytes_per_s: Vec<Vec<Option<f64>>>,
    bytes_per_s_low: Vec<Vec<Option<f64>>>,
    bytes_per_s_high: Vec<Vec<Option<f64>>>,
    /// Minimum confidence of all intervals.
    confidence: f64,
    not_measured: Vec<CellReason<'r>>,
    sweeps: &'r [ThreadSweep],
    whole_machine: &'r [WholeMachine],
    ladders: &'r [LoadLadder],
    findings: &'r [Finding],
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct CellReason<'r> {
    cpu_node: NodeId,
    memory_node: NodeId,
    reason: Option<&'r str>,
}

/// Returns the bandwidth document.
pub fn bandwidth_document(result: &BandwidthResult) -> BandwidthDocument<'_> {
    let matrix = &result.matrix;
    let cells = |of: fn(&MatrixCell) -> Option<f64>| -> Vec<Vec<Option<f64>>> {
        let rows = matrix.rows();
        rows.map(|(_, cells)| cells.iter().map(of).collect())
            .collect()
    };
    BandwidthDocument {
        format: BANDWIDTH_FORMAT,
        runs: &result.runs,
        machine: result.machine.as_ref(),
        kernel: result.kernel,
        traffic_factor_max: result.kernel.traffic_factor_max(),
        method: result.method.as_ref(),
        cpu_nodes: matrix.cpu_nodes(),
        memory_nodes: matrix.memory_nodes(),
        bytes_per_s: cells(|cell| cell.value),
        bytes_per_s_low: cells(|cell| cell.low),
        bytes_per_s_high: cells(|cell| cell.high),
        confidence: common_of_cells(matrix),
        not_measured: not_measured(result),
        sweeps: &result.sweeps,
        whole_machine: &result.whole_machine,
        ladders: &result.ladders,
        findings: &result.findings,
    }
}

fn not_measured(result: &BandwidthResult) -> Vec<CellReason<'_>> {
    let memory_nodes = result.matrix.memory_nodes();
    let reasons = result.matrix.rows().flat_map(|(cpu_node, cells)| {
        let cells = memory_nodes.iter().zip(cells);
        let missing = cells.filter(|(_, cell)| cell.value.is_none());
        missing.map(move |(memory_node, cell)| CellReason {
            cpu_node,
            memory_node: *memory_node,
            reason: cell.absent_because.as_deref(),
        })
    });
    reasons.collect()
}
