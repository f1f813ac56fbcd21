//! The page of `numalab.bandwidth/1`.

use maud::{Markup, html};
use model::{
    BandwidthMethod, BandwidthResult, Finding, LoadLadder, Machine, NodeId, StreamKernel,
    ThreadSweep, WholeMachine, WholeMachineMemory, node_words,
};
use report::{TextOptions, bandwidth_text, figure_of_gigabytes_per_s, figure_of_ns};
use serde::Deserialize;

use super::error::Error;
use super::findings::findings;
use super::guard::fields;
use super::machine::{about_machine, as_text};
use super::matrix::{CellReason, MatrixParts, Rows, matrix};
use super::table::table;
use crate::pictures::{bandwidth_matrix, loaded_latency};

/// Name and version of the document.
pub(crate) const BANDWIDTH_FORMAT: &str = "numalab.bandwidth/1";

/// The fields that `report` writes.
#[derive(Debug, Deserialize)]
struct Fields {
    #[serde(default)]
    runs: Vec<String>,
    #[serde(default)]
    machine: Option<Machine>,
    kernel: StreamKernel,
    #[serde(default)]
    method: Option<BandwidthMethod>,
    cpu_nodes: Vec<NodeId>,
    memory_nodes: Vec<NodeId>,
    bytes_per_s: Rows<f64>,
    #[serde(default)]
    bytes_per_s_low: Option<Rows<f64>>,
    #[serde(default)]
    bytes_per_s_high: Option<Rows<f64>>,
    #[serde(default)]
    confidence: Option<f64>,
    #[serde(default)]
    not_measured: Vec<CellReason>,
    #[serde(default)]
    sweeps: Vec<ThreadSweep>,
    #[serde(default)]
    whole_machine: Vec<WholeMachine>,
    #[serde(default)]
    ladders: Vec<LoadLadder>,
    #[serde(default)]
    findings: Vec<Finding>,
}

/// Reads a document.
pub(crate) fn read_bandwidth(text: &str) -> Result<BandwidthResult, Error> {
    let fields: Fields = fields(text, BANDWIDTH_FORMAT)?;
    let matrix = matrix(&MatrixParts {
        field: "bytes_per_s",
        cpu_nodes: &fields.cpu_nodes,
        memory_nodes: &fields.memory_nodes,
        values: &fields.bytes_per_s,
        lows: fields.bytes_per_s_low.as_ref(),
        highs: fields.bytes_per_s_high.as_ref(),
        confidence: fields.confidence,
        not_measured: &fields.not_measured,
        unsteady: &[],
    })?;
    Ok(BandwidthResult {
        runs: fields.runs,
        machine: fields.machine,
        kernel: fields.kernel,
        method: fields.method,
        matrix,
        sweeps: fields.sweeps,
        whole_machine: fields.whole_machine,
        ladders: fields.ladders,
        findings: fields.findings,
    })
}

/// Returns the page's content.
pub(crate) fn bandwidth_content(result: &BandwidthResult) -> Markup {
    html! {
        p.lead { (lead(result)) }
        (about_machine(result.machine.as_ref()))
        section {
            h2 { "Bandwidth between nodes" }
            (bandwidth_matrix(result))
        }
        @if !result.ladders.is_empty() {
            section {
                h2 { "Latency under load" }
                (loaded_latency(&result.ladders, &[]))
            }
        }
        (findings(&result.findings))
        section {
            h2 { "Figures" }
            (ladders(result))
            (sweeps(result))
            (whole_machine(result))
            (as_text(&bandwidth_text(result, &TextOptions::default())))
        }
    }
}

/// The first sentence: the fastest pair, and the slowest.
fn lead(result: &BandwidthResult) -> String {
    let rows = result.matrix.rows();
    let known = rows.flat_map(|(from, cells)| {
        let cells = result.matrix.memory_nodes().iter().zip(cells);
        cells.filter_map(move |(to, cell)| Some((from, *to, cell.value?)))
    });
    let known: Vec<(NodeId, NodeId, f64)> = known.collect();
    let most = known.iter().max_by(|one, other| one.2.total_cmp(&other.2));
    let least = known.iter().min_by(|one, other| one.2.total_cmp(&other.2));
    let words = |(from, to, value): &(NodeId, NodeId, f64)| {
        let figure = figure_of_gigabytes_per_s(*value);
        format!("{figure} GB/s (CPU node {from}, memory node {to})")
    };
    match (most, least) {
        (Some(most), Some(least)) if known.len() > 1 => {
            format!("Fastest: {}; slowest: {}.", words(most), words(least))
        }
        (Some(only), _) => format!("{}.", words(only)),
        _ => "No bandwidth between nodes was measured.".to_owned(),
    }
}

fn ladders(result: &BandwidthResult) -> Markup {
    let rows = result.ladders.iter().flat_map(|ladder| {
        ladder.points.iter().map(|point| {
            vec![
                ladder.cpu_node.to_string(),
                ladder.memory_node.to_string(),
                format!(
                    "{} on {}",
                    ladder.load_threads,
                    node_words(&ladder.load_nodes)
                ),
                figure_of_gigabytes_per_s(point.bytes_per_s),
                figure_of_ns(point.ns),
            ]
        })
    });
    let head = [
        "CPU node",
        "memory node",
        "load threads",
        "load, GB/s",
        "latency, ns",
    ];
    table("Latency under load", &head, &rows.collect::<Vec<_>>())
}

fn sweeps(result: &BandwidthResult) -> Markup {
    let rows = result.sweeps.iter().flat_map(|sweep| {
        sweep.points.iter().map(|point| {
            vec![
                sweep.cpu_node.to_string(),
                sweep.memory_node.to_string(),
                point.threads.to_string(),
                figure_of_gigabytes_per_s(point.bytes_per_s),
            ]
        })
    });
    let head = ["CPU node", "memory node", "threads", "GB/s"];
    table(
        "Bandwidth by number of threads",
        &head,
        &rows.collect::<Vec<_>>(),
    )
}

fn whole_machine(result: &BandwidthResult) -> Markup {
    let rows = result.whole_machine.iter().map(|whole| {
        let memory = match whole.memory {
            WholeMachineMemory::Local => "local",
            WholeMachineMemory::Interleaved => "interleaved",
            WholeMachineMemory::Remote => "remote",
        };
        vec![
            memory.to_owned(),
            whole.threads.to_string(),
            figure_of_gigabytes_per_s(whole.bytes_per_s),
        ]
    });
    let head = ["memory", "threads", "GB/s"];
    table("All CPUs at once", &head, &rows.collect::<Vec<_>>())
}
