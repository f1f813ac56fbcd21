//! Latencies as text: the matrix, hop classes, neighbours, findings.

use std::collections::BTreeMap;

use model::{
    Finding, LatencyMethod, LatencyResult, Machine, MatrixCell, NodeId, NodeSet, PageWalks, counted,
};
use verdict::common_of_cells;

use crate::diagnosis::findings_text::{Detail, findings_text};
use crate::form::plain::plain;
use crate::form::style::{Style, TextOptions};
use crate::memory::cells::absent_sentences;
use crate::memory::latency_figures::{GridCell, grid, ns, ns_range, pages, size};
use crate::run::figures::{UNKNOWN, confidence_percent, ids};

/// Marks a figure whose rounds scatter.
const UNSTEADY: char = '~';

/// Formats latencies for a terminal. [`crate::latency_curve_text`] and
/// [`crate::latency_transfers_text`] format curves and transfers.
pub fn latency_text(result: &LatencyResult, options: &TextOptions) -> String {
    let mut text = options.heading("Memory latency in ns");
    if result.matrix.cpu_nodes().is_empty() {
        text.push_str("No node was measured.\n");
        text.push_str(&findings_section(&result.findings, options));
        return text + &machine_warning(result.machine.as_ref(), options);
    }
    let about = "from the CPUs of each node (rows) to the memory of each node (columns)";
    text.push_str(&options.paragraph("", about, Style::Usual));
    text.push('\n');
    text.push_str(&matrix(result, options));
    text.push('\n');
    text.push_str(&notes(result, options));
    text.push_str(&classes(result, options));
    text.push_str(&neighbours(result, options));
    text.push_str(&findings_section(&result.findings, options));
    text.push_str(&machine_warning(result.machine.as_ref(), options));
    text
}

fn matrix(result: &LatencyResult, options: &TextOptions) -> String {
    let classes = result.classes_by_row();
    let last_class = |from| classes.row(from).iter().map(|class| class.class).max();
    let cell = |from: NodeId, to: NodeId| {
        let text = match result.matrix.cell(from, to) {
            Some(MatrixCell {
                value: Some(value),
                is_unsteady,
                ..
            }) => {
                let mark = if *is_unsteady {
                    UNSTEADY.to_string()
                } else {
                    String::new()
                };
                ns(*value) + &mark
            }
            _ => UNKNOWN.to_owned(),
        };
        let style = match classes.class(from, to).map(|class| class.class) {
            Some(0) => Style::Good,
            Some(class) if class > 1 && Some(class) == last_class(from) => Style::Care,
            _ => Style::Usual,
        };
        GridCell { text, style }
    };
    grid(&result.matrix, cell, options)
}

/// Returns notes on the source and the confidence of the figures.
fn notes(result: &LatencyResult, options: &TextOptions) -> String {
    let mut notes = Vec::new();
    if let Some(file) = &result.file {
        notes.push(format!("Read from {}; not measured here.", plain(file)));
    }
    notes.extend(result.note.as_ref().map(|note| plain(note)));
    if let Some(method) = &result.method {
        notes.push(method_sentence(method));
    }
    if let Some(widest) = widest_interval(result) {
        notes.push(widest);
    }
    notes.extend(result.page_walks.as_ref().map(page_walks_sentence));
    let mut cells = result.matrix.rows().flat_map(|(_, cells)| cells);
    if cells.any(|cell| cell.is_unsteady) {
        notes.push(format!(
            "{UNSTEADY} after a figure: its rounds scatter; do not rely on it."
        ));
    }
    notes.extend(absent_sentences(&result.matrix));
    let notes = notes
        .iter()
        .map(|note| options.paragraph("", note, Style::Usual));
    notes.collect()
}

fn method_sentence(method: &LatencyMethod) -> String {
    let LatencyMethod {
        rounds,
        samples_per_round,
        ..
    } = method;
    let lines = match method.first_visits {
        true => "lines that no cache held",
        false => "each line once",
    };
    format!(
        "Medians of {} of {}; {}; working set {}; random \
         order, {lines}.",
        counted(rounds, "round"),
        counted(samples_per_round, "window"),
        pages(method.page_kind, method.page_bytes),
        size(method.working_set_bytes),
    )
}

/// Returns a sentence on the cost of page walks.
fn page_walks_sentence(walks: &PageWalks) -> String {
    let interval = match (walks.low, walks.high) {
        (Some(low), Some(high)) => format!(" ({} to {})", ns(low), ns(high)),
        _ => String::new(),
    };
    let difference = walks.ns_with - walks.ns_without;
    let less = if difference < 0.0 { "less" } else { "more" };
    format!(
        "Page walks: from node {} to node {}, an access takes {} ns{interval} in random pages of \
         {}, {} ns {less}.",
        walks.cpu_node,
        walks.memory_node,
        ns(walks.ns_with),
        size(walks.page_bytes),
        ns(difference.abs()),
    )
}

/// Returns a sentence on the interval that is widest relative to its figure.
fn widest_interval(result: &LatencyResult) -> Option<String> {
    let mut widest: Option<(f64, String)> = None;
    let sure = confidence_percent(common_of_cells(&result.matrix));
    for (from, cells) in result.matrix.rows() {
        for (to, cell) in result.matrix.memory_nodes().iter().zip(cells) {
            let (Some(value), Some(low), Some(high)) = (cell.value, cell.low, cell.high) else {
                continue;
            };
            let share = (high - low) / value;
            if share.is_finite() && widest.as_ref().is_none_or(|(most, _)| share > *most) {
                let (low, high) = (ns(low), ns(high));
                let sentence = format!(
                    "Widest {sure} interval: {low} to {high} ns, from node {from} to node {to}."
                );
                widest = Some((share, sentence));
            }
        }
    }
    widest.map(|(_, sentence)| sentence)
}

fn classes(result: &LatencyResult, options: &TextOptions) -> String {
    if result.hop_classes.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}", options.heading("Hop classes"));
    let about = match result.distances {
        Some(_) => "nodes that measure alike, ns; the firmware's distance in brackets",
        None => "nodes that measure alike, ns; the firmware's distances are not known",
    };
    text.push_str(&options.paragraph("", about, Style::Usual));
    let mut rows: BTreeMap<NodeId, Vec<String>> = BTreeMap::new();
    for class in &result.hop_classes {
        let nodes = ids("node", &class.memory_nodes);
        let range = ns_range(class.ns_min, class.ns_max);
        let distances: Vec<String> = class.distances.iter().map(u32::to_string).collect();
        let distances = match distances.is_empty() {
            true => String::new(),
            false => format!(" [{}]", distances.join(", ")),
        };
        let row = rows.entry(class.cpu_node).or_default();
        row.push(format!("{nodes}: {range}{distances}"));
    }
    for (from, classes) in rows {
        let start = format!("from node {from}  ");
        text.push_str(&options.paragraph(&start, &classes.join("; "), Style::Usual));
    }
    text
}

fn neighbours(result: &LatencyResult, options: &TextOptions) -> String {
    if result.links.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n{}",
        options.heading("Neighbours, inferred from the latencies")
    );
    let mut by_node: BTreeMap<NodeId, NodeSet> = BTreeMap::new();
    for link in &result.links {
        by_node.entry(link.from).or_default().insert(link.to);
    }
    for (node, others) in by_node {
        let others: Vec<String> = others.iter().map(|other| other.to_string()).collect();
        let start = format!("{node} ── ");
        text.push_str(&options.paragraph(&start, &others.join(", "), Style::Usual));
    }
    text
}

/// Formats the findings of a measurement under a heading, or one sentence if there are none.
pub(crate) fn findings_section(findings: &[Finding], options: &TextOptions) -> String {
    let text = match findings.is_empty() {
        true => "Nothing to report.\n".to_owned(),
        false => findings_text(findings, Detail::Short, options),
    };
    format!("\n{}{text}", options.heading("Findings"))
}

/// Returns a warning on the figures of a virtual or emulated machine.
pub(crate) fn machine_warning(machine: Option<&Machine>, options: &TextOptions) -> String {
    let Some(machine) = machine else {
        return String::new();
    };
    let warning = match (&machine.hypervisor, machine.emulated) {
        (_, Some(true)) => {
            "This machine is emulated in software: its nodes are equally far, and its figures say \
             nothing about NUMA."
        }
        (Some(_), _) => {
            "This is a virtual machine: its nodes may not match those of its host, its page walks \
             are longer, and its neighbours share its caches and memory."
        }
        (None, _) => return String::new(),
    };
    format!("\n{}", options.paragraph("", warning, Style::Care))
}
