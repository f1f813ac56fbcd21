//! The page of `numalab.bandwidth/1`.

use maud::{Markup, html};
use model::{
    BandwidthMethod, BandwidthResult, Finding, LoadLadder, Machine, NodeId, StreamKernel,
    ThreadSweep, WholeMachine, WholeMachineMemory,
};
use report::{BANDWIDTH_FORMAT, Table, TextOptions, bandwidth_text, figure_of_gigabytes_per_s};
use serde::Deserialize;

use super::ends::{ends, matrix_sureness, with_interval};
use super::error::Error;
use super::findings::findings;
use super::frame::{Content, as_text};
use super::guard::fields;
use super::matrix::{CellReason, MatrixParts, Rows, matrix};
use super::table::table;
use super::top::Top;
use crate::pictures::{bandwidth_matrix, loaded_latency};

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
pub(crate) fn bandwidth_content(result: &BandwidthResult) -> Content {
    let top = Top {
        answer: answer(result),
        sureness: matrix_sureness(&result.matrix),
        ..Top::default()
    };
    let body = html! {
        (bandwidth_matrix(result))
        @if !result.ladders.is_empty() {
            section {
                h2 { "Latency under load" }
                (loaded_latency(&result.ladders, &[]))
            }
        }
        (findings(&result.findings))
        section {
            h2 { "Figures" }
            (sweeps(result))
            (whole_machine(result))
            (as_text(&bandwidth_text(result, &TextOptions::default())))
        }
    };
    Content {
        top: top.on(result.machine.as_ref()),
        body,
    }
}

/// The slowest pair, and the fastest.
fn answer(result: &BandwidthResult) -> String {
    let Some((slow, fast)) = ends(&result.matrix) else {
        return "No bandwidth between nodes was measured.".to_owned();
    };
    let figure = |cell| with_interval(cell, figure_of_gigabytes_per_s);
    let (from, to, least) = slow;
    if (from, to) == (fast.0, fast.1) {
        return format!(
            "CPU node {from} to memory node {to}: {} GB/s.",
            figure(least)
        );
    }
    let share = least
        .value
        .zip(fast.2.value)
        .map_or(1.0, |(slow, fast)| slow / fast);
    format!(
        "CPU node {from} uses memory node {to} at {} GB/s, {share:.2} times the fastest: {} GB/s.",
        figure(least),
        figure(fast.2),
    )
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
    let titles = ">CPU node|>memory node|>threads|>GB/s";
    table(
        "Bandwidth by number of threads",
        &Table::of(titles).with(rows),
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
    let titles = "memory|>threads|>GB/s";
    table("All CPUs at once", &Table::of(titles).with(rows))
}
