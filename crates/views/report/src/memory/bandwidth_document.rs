//! Bandwidths as the document `numalab.bandwidth/1`.

use model::{
    BandwidthMethod, BandwidthResult, Finding, LoadLadder, Machine, NodeId, StreamKernel,
    ThreadSweep, WholeMachine,
};
use serde::Serialize;
use verdict::common_of_cells;

use crate::memory::cells::{CellReason, not_measured, values};

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

/// Returns the bandwidth document.
pub fn bandwidth_document(result: &BandwidthResult) -> BandwidthDocument<'_> {
    let matrix = &result.matrix;
    BandwidthDocument {
        format: BANDWIDTH_FORMAT,
        runs: &result.runs,
        machine: result.machine.as_ref(),
        kernel: result.kernel,
        traffic_factor_max: result.kernel.traffic_factor_max(),
        method: result.method.as_ref(),
        cpu_nodes: matrix.cpu_nodes(),
        memory_nodes: matrix.memory_nodes(),
        bytes_per_s: values(matrix, |cell| cell.value),
        bytes_per_s_low: values(matrix, |cell| cell.low),
        bytes_per_s_high: values(matrix, |cell| cell.high),
        confidence: common_of_cells(matrix),
        not_measured: not_measured(matrix),
        sweeps: &result.sweeps,
        whole_machine: &result.whole_machine,
        ladders: &result.ladders,
        findings: &result.findings,
    }
}
