//! The page of `numalab.residency/1`.

use maud::{Markup, html};
use model::{
    ByteSize, BytesByNode, LatencyResult, Relations, Residency, ResidencyMethod, SegmentArea,
    SegmentResidency, counted,
};
use report::{Fields, Table, TextOptions, residency_text};

use super::error::Error;
use super::findings::findings;
use super::frame::{Content, as_text};
use super::guard::fields;
use super::table::{UNKNOWN, cut, or_unknown, table};
use super::top::Top;
use crate::pictures::{buffer_map, flow, relation_map};

/// Maximum number of nodes whose bytes a cell lists.
const NODES_MAX: usize = 16;

/// Reads a document.
pub(crate) fn read_residency(text: &str) -> Result<Residency, Error> {
    fields(text, Residency::FORMAT)
}

/// Returns the page's content.
pub(crate) fn residency_content(
    residency: &Residency,
    latencies: Option<&LatencyResult>,
) -> Content {
    let ns = |from, to| latencies.and_then(|it| it.matrix.value(from, to));
    let map = buffer_map(residency);
    let has_map = !map.0.is_empty();
    let gaps = residency.gaps.iter().filter(|_| !residency.complete);
    let top = Top {
        answer: answer(residency),
        target: Some(residency.target.clone()),
        sureness: Some(method(residency.method).to_owned()),
        warnings: gaps
            .map(|gap| format!("lower bounds only: {gap}"))
            .collect(),
        ..Top::default()
    };
    let body = html! {
        section {
            @if has_map { (map) } @else { p { "There is no shared memory." } }
            (segments(residency))
            @if let Some(found) = &residency.relations {
                (relation_map(found, residency.memory_nodes.iter()))
                (relations(found))
            }
        }
        section {
            h2 { "From CPUs to memory" }
            (flow(residency, &ns))
        }
        (findings(&residency.findings))
        section {
            h2 { "Figures" }
            (private(residency))
            details {
                summary { (counted(residency.processes.len(), "process")) }
                (processes(residency))
            }
            (as_text(&residency_text(residency, &TextOptions::default())))
        }
    };
    Content { top, body }
}

/// Where most of it lies, and how much there is.
fn answer(residency: &Residency) -> String {
    let all: u64 = residency.bytes_by_node.values().sum();
    let most = residency
        .bytes_by_node
        .iter()
        .max_by_key(|(_, bytes)| **bytes);
    let Some((node, bytes)) = most.filter(|_| all > 0) else {
        return "No memory was found.".to_owned();
    };
    let share = *bytes as f64 * 100.0 / all as f64;
    let mut text = format!(
        "{share:.1} % of {} lies on node {node}; {} of {} with memory have some.",
        ByteSize(all),
        residency
            .bytes_by_node
            .values()
            .filter(|it| **it > 0)
            .count(),
        counted(residency.memory_nodes.len(), "node"),
    );
    if residency.bytes_without_node > 0 {
        let unknown = ByteSize(residency.bytes_without_node);
        text.push_str(&format!(" The node of {unknown} more is unknown."));
    }
    text
}

fn method(method: ResidencyMethod) -> &'static str {
    match method {
        ResidencyMethod::Pagemap => "every page inspected (pagemap)",
        ResidencyMethod::PagemapSampled => "large segments sampled (pagemap): estimates",
        ResidencyMethod::NumaMaps => "from numa_maps: lower bounds",
    }
}

/// Formats bytes by node.
pub(crate) fn by_node(bytes: &BytesByNode) -> String {
    let present = || bytes.iter().filter(|(_, bytes)| **bytes > 0);
    let shown = present().take(NODES_MAX);
    let parts: Vec<String> = shown
        .map(|(node, bytes)| format!("node {node}: {}", ByteSize(*bytes)))
        .collect();
    let more = present().count().saturating_sub(NODES_MAX);
    match (parts.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => parts.join(", "),
        (false, more) => format!("{}, and {}", parts.join(", "), counted(more, "more node")),
    }
}

fn segments(residency: &Residency) -> Markup {
    let whole = |segment: &SegmentResidency| {
        vec![
            cut(&segment.name),
            segment.kind.word().to_owned(),
            or_unknown(segment.page_bytes.map(ByteSize)),
            or_unknown(segment.policy.as_deref().map(cut)),
            segment.processes.to_string(),
            ByteSize(segment.bytes()).to_string(),
            by_node(&segment.bytes_by_node),
            ByteSize(segment.bytes_without_node).to_string(),
        ]
    };
    let rows = residency.segments.iter().flat_map(|segment| {
        let areas = segment.areas.iter().enumerate();
        let areas = areas.filter(|_| segment.areas.len() > 1);
        let areas = areas.map(|(index, area)| part(segment, index, area));
        std::iter::once(whole(segment)).chain(areas)
    });
    let titles = "segment|kind|>page|policy|>processes|>bytes|by node|>node unknown";
    table("Segments", &Table::of(titles).with(rows))
}

/// A part of a segment with a policy of its own.
fn part(segment: &SegmentResidency, index: usize, area: &SegmentArea) -> Vec<String> {
    let name = cut(&segment.name);
    vec![
        format!("{name}, part {} of {}", index + 1, segment.areas.len()),
        segment.kind.word().to_owned(),
        or_unknown(segment.page_bytes.map(ByteSize)),
        cut(&area.policy),
        segment.processes.to_string(),
        ByteSize(area.bytes_by_node.values().sum()).to_string(),
        by_node(&area.bytes_by_node),
        UNKNOWN.to_owned(),
    ]
}

fn relations(found: &Relations) -> Markup {
    let rows = found.relations.iter().map(|relation| {
        vec![
            or_unknown(relation.name.as_deref().map(cut)),
            or_unknown(relation.kind.as_deref().map(cut)),
            // Relations shared by all databases have none.
            relation
                .database
                .as_deref()
                .map_or_else(|| "all".to_owned(), cut),
            relation.buffers.to_string(),
            ByteSize(relation.bytes).to_string(),
            by_node(&relation.bytes_by_node),
            ByteSize(relation.bytes_without_node).to_string(),
        ]
    });
    let titles = "relation|kind|database|>buffers|>bytes|by node|>node unknown";
    table(
        "Shared buffers by table and index",
        &Table::of(titles).with(rows),
    )
}

fn private(residency: &Residency) -> Markup {
    let rows = residency.private.iter().map(|class| {
        vec![
            cut(&class.class),
            class.processes.to_string(),
            by_node(&class.bytes_by_node),
        ]
    });
    let titles = "class|>processes|by node";
    table("Private memory", &Table::of(titles).with(rows))
}

fn processes(residency: &Residency) -> Markup {
    let percent = |share: Option<f64>| or_unknown(share.map(|it| format!("{:.1} %", 100.0 * it)));
    let rows = residency.processes.iter().map(|process| {
        vec![
            process.pid.to_string(),
            cut(&process.class),
            process.nodes_of_cpus.to_string(),
            by_node(&process.private_bytes_by_node),
            percent(process.private_local_share),
            percent(process.shared_local_share),
        ]
    });
    let titles = ">pid|class|CPUs of nodes|private, by node|>private, local|>shared, local";
    table("Processes", &Table::of(titles).with(rows))
}
