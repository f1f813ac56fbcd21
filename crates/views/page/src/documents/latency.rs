//! The page of `numalab.latency/1`.

use maud::{Markup, html};
use model::{
    DistanceTable, Finding, HopClass, LatencyCurve, LatencyMethod, LatencyResult, Machine,
    MatrixCell, NodeId, NodeLink, PageWalks, TransferMatrix, counted,
};
use report::{
    LATENCY_FORMAT, Table, TextOptions, figure_of_ns, latency_curve_text, latency_text,
    latency_transfers_text,
};
use serde::Deserialize;

use super::ends::{ends, matrix_sureness, with_interval};
use super::error::Error;
use super::findings::findings;
use super::frame::{Content, as_text};
use super::guard::fields;
use super::matrix::{CellReason, MatrixParts, Rows, check_size, matrix};
use super::table::{UNKNOWN, cut, or_unknown, table};
use super::top::Top;
use crate::pictures::{depth_curve, latency_matrix, measured_by_firmware};

/// Maximum number of rows of the list of hop classes that are read.
const CLASSES_MAX: usize = 1 << 16;
/// Maximum number of curves and of matrices of transfers that are shown.
const CURVES_MAX: usize = 64;

/// The fields that `report` writes.
#[derive(Debug, Deserialize)]
struct Fields {
    #[serde(default)]
    runs: Vec<String>,
    #[serde(default)]
    machine: Option<Machine>,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    note: Option<String>,
    #[serde(default)]
    method: Option<LatencyMethod>,
    cpu_nodes: Vec<NodeId>,
    memory_nodes: Vec<NodeId>,
    ns: Rows<f64>,
    #[serde(default)]
    ns_low: Option<Rows<f64>>,
    #[serde(default)]
    ns_high: Option<Rows<f64>>,
    #[serde(default)]
    confidence: Option<f64>,
    #[serde(default)]
    not_measured: Vec<CellReason>,
    #[serde(default)]
    unsteady: Vec<CellReason>,
    #[serde(default)]
    distances: Option<Rows<u32>>,
    #[serde(default)]
    hop_classes: Vec<HopClass>,
    #[serde(default)]
    links: Vec<NodeLink>,
    #[serde(default)]
    findings: Vec<Finding>,
    #[serde(default)]
    page_walks: Option<PageWalks>,
    #[serde(default)]
    curves: Vec<LatencyCurve>,
    #[serde(default)]
    transfers: Vec<TransferMatrix>,
}

/// Reads a document.
pub(crate) fn read_latency(text: &str) -> Result<LatencyResult, Error> {
    let mut fields: Fields = fields(text, LATENCY_FORMAT)?;
    let matrix = matrix(&MatrixParts {
        field: "ns",
        cpu_nodes: &fields.cpu_nodes,
        memory_nodes: &fields.memory_nodes,
        values: &fields.ns,
        lows: fields.ns_low.as_ref(),
        highs: fields.ns_high.as_ref(),
        confidence: fields.confidence,
        not_measured: &fields.not_measured,
        unsteady: &fields.unsteady,
    })?;
    let distances = match fields.distances {
        Some(rows) => {
            let size = (fields.cpu_nodes.len(), fields.memory_nodes.len());
            check_size("distances", &rows, size)?;
            DistanceTable::of_parts(fields.cpu_nodes, fields.memory_nodes, rows)
        }
        None => None,
    };
    for transfers in &fields.transfers {
        let count = transfers.cpus.len();
        check_size("transfers", &transfers.ns, (count, count))?;
    }
    fields.hop_classes.truncate(CLASSES_MAX);
    Ok(LatencyResult {
        runs: fields.runs,
        machine: fields.machine,
        file: fields.file,
        note: fields.note,
        method: fields.method,
        matrix,
        distances,
        hop_classes: fields.hop_classes,
        links: fields.links,
        findings: fields.findings,
        page_walks: fields.page_walks,
        curves: fields.curves,
        transfers: fields.transfers,
    })
}

/// Returns the page's content.
pub(crate) fn latency_content(result: &LatencyResult) -> Content {
    let options = TextOptions::default();
    let few_curves = LatencyResult {
        curves: result.curves.iter().take(CURVES_MAX).cloned().collect(),
        transfers: result.transfers.iter().take(CURVES_MAX).cloned().collect(),
        ..result.clone()
    };
    let mut texts = vec![latency_text(result, &options)];
    if !result.curves.is_empty() {
        texts.push(latency_curve_text(&few_curves, &options));
    }
    if !result.transfers.is_empty() {
        texts.push(latency_transfers_text(&few_curves, &options));
    }
    let left_out = result.curves.len().saturating_sub(CURVES_MAX);
    let transfers_left_out = result.transfers.len().saturating_sub(CURVES_MAX);
    let from_file = result.file.as_ref();
    let top = Top {
        answer: answer(result),
        sureness: matrix_sureness(&result.matrix),
        target: from_file.map(|file| format!("the figures of the file {file}")),
        warnings: result.note.iter().cloned().collect(),
        ..Top::default()
    };
    let body = html! {
        (latency_matrix(result))
        (pairs_table(result))
        @if !result.curves.is_empty() {
            section {
                h2 { "Latency by working set" }
                (depth_curve(result))
            }
        }
        (findings(&result.findings))
        section {
            h2 { "Figures" }
            (as_text(&texts.join("\n")))
            @if left_out + transfers_left_out > 0 {
                p {
                    "Left out of the text: " (counted(left_out, "curve"))
                    ", matrices of transfers: " (transfers_left_out) "."
                }
            }
        }
    };
    Content {
        top: top.on(result.machine.as_ref()),
        body,
    }
}

/// The farthest, the nearest, and their ratio.
fn answer(result: &LatencyResult) -> String {
    let (near, far) = match ends(&result.matrix) {
        None => return "No latency between nodes was measured.".to_owned(),
        Some(ends) => ends,
    };
    let figure = |cell: &MatrixCell| with_interval(cell, figure_of_ns);
    let (from, to, most) = far;
    if (from, to) == (near.0, near.1) {
        return format!("CPU node {from} to memory node {to}: {} ns.", figure(most));
    }
    let ratio = most
        .value
        .zip(near.2.value)
        .map_or(1.0, |(far, near)| far / near);
    format!(
        "CPU node {from} reaches memory node {to} in {} ns, {ratio:.2} times the nearest: {} ns.",
        figure(most),
        figure(near.2),
    )
}

fn pairs_table(result: &LatencyResult) -> Markup {
    let row = |from: NodeId, to: NodeId, cell: &MatrixCell| {
        let interval = match (cell.low, cell.high) {
            (Some(low), Some(high)) => {
                format!("{} to {}", figure_of_ns(low), figure_of_ns(high))
            }
            _ => UNKNOWN.to_owned(),
        };
        let distance = result
            .distances
            .as_ref()
            .and_then(|it| it.distance(from, to));
        let ratio = measured_by_firmware(result, from, to);
        let absent = match &cell.absent_because {
            Some(reason) => format!("not measured: {}", cut(reason)),
            None => UNKNOWN.to_owned(),
        };
        vec![
            from.to_string(),
            to.to_string(),
            cell.value.map_or(absent, figure_of_ns),
            interval,
            or_unknown(distance),
            or_unknown(ratio.map(|ratio| format!("{ratio:.2}"))),
        ]
    };
    let rows = result.matrix.rows().flat_map(|(from, cells)| {
        let nodes = result.matrix.memory_nodes().iter();
        let cells = nodes.zip(cells);
        cells.map(move |(to, cell)| row(from, *to, cell))
    });
    // Rows that no table shows are not worth their look-ups; one more says that they exist.
    let all = result.matrix.cpu_nodes().len() * result.matrix.memory_nodes().len();
    let titles =
        ">CPU node|>memory node|>ns|>interval, ns|>firmware's distance|>measured ÷ firmware";
    let pairs = Table::of(titles).with(rows.take(PAIRS_MAX));
    html! {
        (table("Latency from CPU node to memory node", &pairs))
        @if all > PAIRS_MAX {
            p {
                "Left out of the table: "
                (counted(all - PAIRS_MAX, "more pair")) "."
            }
        }
    }
}

/// Maximum number of pairs in the table: all of 32 nodes.
const PAIRS_MAX: usize = 1024;
