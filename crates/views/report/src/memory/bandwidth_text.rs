//! Bandwidths as text: the matrix, thread sweeps, the whole machine, latency under load.

use model::{
    BandwidthResult, LoadLadder, NodeId, StreamKernel, ThreadSweep, WholeMachine,
    WholeMachineMemory, counted,
};

use crate::form::plain::plain;
use crate::form::style::{Style, TextOptions};
use crate::form::table::Table;
use crate::memory::cells::absent_sentences;
use crate::memory::latency_figures::{GridCell, gigabytes_per_s, grid, pages, short_ns, size};
use crate::memory::latency_text::{findings_section, machine_warning};
use crate::run::figures::{UNKNOWN, ids};

/// Maximum length of a bar of a ladder, in columns.
const BAR_COLUMNS: usize = 30;

/// Formats bandwidths for a terminal.
pub fn bandwidth_text(result: &BandwidthResult, options: &TextOptions) -> String {
    let title = format!("Memory bandwidth in GB/s: {}", result.kernel.name());
    let mut text = options.heading(&title);
    let about = "all CPUs of each node (rows) with the memory of each node (columns)";
    text.push_str(&options.paragraph("", about, Style::Usual));
    text.push('\n');
    text.push_str(&matrix(result, options));
    text.push('\n');
    for note in notes(result) {
        text.push_str(&options.paragraph("", &note, Style::Usual));
    }
    text.push_str(&sweeps(&result.sweeps, options));
    text.push_str(&whole_machine(&result.whole_machine, options));
    for ladder in &result.ladders {
        text.push_str(&ladder_text(ladder, options));
    }
    text.push_str(&findings_section(&result.findings, options));
    text.push_str(&machine_warning(result.machine.as_ref(), options));
    text
}

fn matrix(result: &BandwidthResult, options: &TextOptions) -> String {
    let cell = |from: NodeId, to: NodeId| {
        let value = result.matrix.value(from, to);
        GridCell {
            text: value.map_or(UNKNOWN.to_owned(), gigabytes_per_s),
            style: if from == to {
                Style::Good
            } else {
                Style::Usual
            },
        }
    };
    grid(&result.matrix, cell, options)
}

fn notes(result: &BandwidthResult) -> Vec<String> {
    let mut notes = vec![traffic_sentence(result.kernel)];
    if let Some(method) = &result.method {
        notes.push(format!(
            "Medians of {} with {}; {}; {} for each thread.",
            counted(method.rounds, "round"),
            plain(&method.simd),
            pages(method.page_kind, method.page_bytes),
            size(method.bytes_per_thread),
        ));
    }
    notes.extend(absent_sentences(&result.matrix));
    notes
}

/// Returns a sentence on which bytes are counted, and what else may cross the bus.
fn traffic_sentence(kernel: StreamKernel) -> String {
    let factor = kernel.traffic_factor_max();
    let counted = "1 GB is 10^9 bytes read and written by the program";
    if factor > 1.0 {
        return format!(
            "{counted}; the bus carries up to {factor:.2} times as much, because the CPU reads a \
             line before it writes it (write allocate)."
        );
    }
    format!("{counted}; nothing else crosses the bus.")
}

fn sweeps(sweeps: &[ThreadSweep], options: &TextOptions) -> String {
    if sweeps.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n{}",
        options.heading("Bandwidth by number of threads, GB/s")
    );
    for sweep in sweeps {
        let points = sweep.points.iter();
        let points = points.map(|point| {
            let mark = if Some(point.threads) == sweep.knee_threads {
                "*"
            } else {
                ""
            };
            format!(
                "{}{mark}: {}",
                point.threads,
                gigabytes_per_s(point.bytes_per_s)
            )
        });
        let start = format!("node {} to {}  ", sweep.cpu_node, sweep.memory_node);
        let points = points.collect::<Vec<_>>().join("  ");
        text.push_str(&options.paragraph(&start, &points, Style::Usual));
    }
    let legend = "* the fewest threads that reach 95 % of the maximum";
    text.push_str(&options.paragraph("", legend, Style::Usual));
    text
}

fn whole_machine(measured: &[WholeMachine], options: &TextOptions) -> String {
    if measured.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}", options.heading("All CPUs at once"));
    let mut table = Table::of("memory|>threads|>GB/s");
    for row in measured {
        let memory = match row.memory {
            WholeMachineMemory::Local => "local to each thread",
            WholeMachineMemory::Interleaved => "interleaved over all nodes",
            WholeMachineMemory::Remote => "remote to each thread",
        };
        let cells = [
            memory.to_owned(),
            row.threads.to_string(),
            gigabytes_per_s(row.bytes_per_s),
        ];
        table.row(cells);
    }
    text.push_str(&table.text(options));
    text
}

fn ladder_text(ladder: &LoadLadder, options: &TextOptions) -> String {
    let title = format!(
        "Latency from node {} to node {} under load by {} of {}",
        ladder.cpu_node,
        ladder.memory_node,
        counted(ladder.load_threads, "thread"),
        ids("node", &ladder.load_nodes),
    );
    let mut text = format!("\n{}", options.heading(&title));
    let mut table = Table::of(">pause|>GB/s|>ns|");
    let figures = ladder.points.iter().map(|point| point.ns);
    let most = figures.filter(|ns| ns.is_finite()).fold(0.0, f64::max);
    for point in &ladder.points {
        let length = (point.ns / most * BAR_COLUMNS as f64).round();
        // A figure that is not finite has no bar.
        let length = if length.is_finite() {
            length.max(0.0) as usize
        } else {
            0
        };
        let cells = [
            point
                .delay
                .map_or("no load".to_owned(), |delay| delay.to_string()),
            gigabytes_per_s(point.bytes_per_s),
            short_ns(point.ns),
            "█".repeat(length.min(BAR_COLUMNS)),
        ];
        table.row(cells);
    }
    text.push_str(&table.text(options));
    text
}
