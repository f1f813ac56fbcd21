//! The processes of a residency as text: where each may run, where it ran last, and the share of
//! its memory that is local.

use std::collections::BTreeMap;

use model::{ByteSize, NodeId, ProcessResidency, Residency};

use crate::form::plain::{plain, plain_within};
use crate::form::style::{Style, TextOptions};
use crate::form::table::Table;
use crate::residency::figures::{NAME_COLUMNS, percent};

/// Maximum number of processes listed one by one.
const PROCESSES_MAX: usize = 24;

pub(crate) fn residency_processes(residency: &Residency, options: &TextOptions) -> String {
    let mut table =
        Table::of(">PID|what|CPUs on nodes|>last on|memory nodes|>private local|>shared local");
    for process in residency.processes.iter().take(PROCESSES_MAX) {
        let pinned = if process.pinned_to_node.is_some() {
            " only"
        } else {
            ""
        };
        let cells = [
            process.pid.to_string(),
            plain_within(&process.class, NAME_COLUMNS),
            format!("{}{pinned}", process.nodes_of_cpus),
            process
                .last_node
                .map_or(String::new(), |node| node.to_string()),
            process.memory_nodes_allowed.to_string(),
            local(
                process.private_local_share,
                process.private_local_share_last,
            ),
            local(process.shared_local_share, process.shared_local_share_last),
        ];
        table.row(cells);
    }
    let mut text = options.heading("Processes") + &table.text(options);
    if residency.processes.len() > PROCESSES_MAX {
        let more = residency.processes.len() - PROCESSES_MAX;
        text.push_str(&options.paragraph("", &format!("and {more} more"), Style::Usual));
    }
    for sentence in pinned_sentences(&residency.processes) {
        text.push_str(&options.paragraph("", &sentence, Style::Usual));
    }
    text
}

/// Describes parallel workers pinned to nodes, and the local share of the memory they touched.
fn pinned_sentences(processes: &[ProcessResidency]) -> Vec<String> {
    let workers = processes
        .iter()
        .filter(|process| process.class == "parallel worker");
    let mut by_node: BTreeMap<NodeId, u32> = BTreeMap::new();
    let mut sentences = Vec::new();
    for worker in workers {
        let Some(node) = worker.pinned_to_node else {
            continue;
        };
        *by_node.entry(node).or_default() += 1;
        let touched = worker.touched_pool_bytes_by_node.as_ref();
        let all: u64 = touched.iter().flat_map(|bytes| bytes.values()).sum();
        let local = touched
            .and_then(|bytes| bytes.get(&node))
            .copied()
            .unwrap_or(0);
        if all > 0 && sentences.len() < PROCESSES_MAX {
            sentences.push(format!(
                "{} is pinned to node {node}, which holds {} of the buffer-pool memory that it \
                 touched ({} of {})",
                plain(&worker.name),
                percent(local, all),
                ByteSize(local),
                ByteSize(all)
            ));
        }
    }
    if !by_node.is_empty() {
        let parts: Vec<String> = by_node
            .iter()
            .map(|(node, count)| format!("{count} on node {node}"))
            .collect();
        let list = parts.join(", ");
        sentences.insert(0, format!("parallel workers are pinned per node: {list}"));
    }
    sentences
}

/// Formats the expected local share: `25.0 %`, with that of the CPU it last ran on if different.
fn local(expected: Option<f64>, last: Option<f64>) -> String {
    let words = |share: f64| format!("{:.1} %", share * 100.0);
    match (expected.map(words), last.map(words)) {
        (Some(expected), Some(last)) if last != expected => format!("{expected}, last {last}"),
        (expected, _) => expected.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_local_where_a_process_ran_last_is_shown_where_it_differs() {
        assert_eq!(local(Some(0.25), Some(0.0)), "25.0 %, last 0.0 %");
        assert_eq!(local(Some(1.0), Some(1.0)), "100.0 %");
        assert_eq!(local(Some(0.25), None), "25.0 %");
        assert_eq!(local(None, None), "");
    }
}
