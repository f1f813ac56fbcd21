//! Residency as text: totals by node, segments, private memory by class, processes, findings.

use model::{
    ByteSize, BytesByNode, Finding, NodeSet, Residency, ResidencyMethod, Sampled, counted,
};

use crate::diagnosis::findings_text::{Detail, findings_text};
use crate::form::plain::{plain, plain_within};
use crate::form::style::{Style, TextOptions};
use crate::form::table::Table;
use crate::residency::figures::{NAME_COLUMNS, NODE_COLUMNS_MAX, by_node_text, percent, size};
use crate::residency::granules::{SegmentRow, segment_rows};
use crate::residency::layout::layout_sentence;
use crate::residency::processes::residency_processes;
use crate::residency::relations::relations_text;
use crate::residency::threads::residency_threads;

/// Maximum number of segments shown; files follow shared memory, and small ones are summed up.
const SEGMENTS_MAX: usize = 12;

/// Formats a residency.
pub fn residency_text(residency: &Residency, options: &TextOptions) -> String {
    let sections = [
        head(residency, options),
        nodes(residency, options),
        segments(residency, options),
        private(residency, options),
        relations(residency, options),
        residency_processes(residency, options),
        residency_threads(residency.threads.as_ref(), options),
        findings(&residency.findings, options),
        gaps(residency, options),
    ];
    let shown: Vec<String> = sections
        .into_iter()
        .filter(|section| !section.is_empty())
        .collect();
    shown.join("\n")
}

fn head(residency: &Residency, options: &TextOptions) -> String {
    let processes = counted(residency.processes.len(), "process");
    let all: u64 = residency.bytes_by_node.values().sum();
    let method = match (residency.method, residency.complete) {
        (ResidencyMethod::Pagemap, true) => "exact: every page counted once, by its frame number",
        (ResidencyMethod::Pagemap, false) => {
            "incomplete: every page counted once, by its frame number; see What is missing"
        }
        (ResidencyMethod::PagemapSampled, _) => {
            "by frame numbers; large segments estimated from a sample of their pages, with \
             intervals below"
        }
        (ResidencyMethod::NumaMaps, _) => "a lower bound, from numa_maps; see What is missing",
    };
    let mut text = options.heading(&format!("Memory of {}", plain(&residency.target)));
    let sentence = format!("{} in {processes}, {method}", ByteSize(all));
    text.push_str(&options.paragraph("", &sentence, Style::Usual));
    if let Some(layout) = layout_sentence(residency) {
        text.push_str(&options.paragraph("", &layout, Style::Usual));
    }
    text
}

fn nodes(residency: &Residency, options: &TextOptions) -> String {
    let mut shared = BytesByNode::new();
    let mut files = BytesByNode::new();
    for segment in &residency.segments {
        let sum = if segment.kind.is_shared_memory() {
            &mut shared
        } else {
            &mut files
        };
        for (node, bytes) in &segment.bytes_by_node {
            *sum.entry(*node).or_default() += bytes;
        }
    }
    let mut private = BytesByNode::new();
    for (node, bytes) in residency
        .private
        .iter()
        .flat_map(|class| &class.bytes_by_node)
    {
        *private.entry(*node).or_default() += bytes;
    }
    let all: u64 = residency.bytes_by_node.values().sum();
    let mut table = Table::of(">node|>all|>share|>shared|>private|>files");
    let with_memory = residency.bytes_by_node.keys().copied();
    let nodes: NodeSet = residency.memory_nodes.iter().chain(with_memory).collect();
    for node in &nodes {
        let of = |bytes: &BytesByNode| bytes.get(&node).copied().unwrap_or(0);
        let bytes = of(&residency.bytes_by_node);
        let cells = [
            node.to_string(),
            size(bytes),
            percent(bytes, all),
            size(of(&shared)),
            size(of(&private)),
            size(of(&files)),
        ];
        table.row(cells);
    }
    options.heading("By node") + &table.text(options)
}

fn segments(residency: &Residency, options: &TextOptions) -> String {
    let (mut shared, files): (Vec<_>, Vec<_>) = residency
        .segments
        .iter()
        .partition(|segment| segment.kind.is_shared_memory());
    shared.extend(files);
    let shared = segment_rows(&shared);
    if shared.is_empty() {
        return String::new();
    }
    let mut table = Table::of("segment|kind|>bytes|>pages|>processes|policy|by node");
    for row in shared.iter().take(SEGMENTS_MAX) {
        table.row(segment_cells(row));
    }
    let mut text = options.heading("Segments") + &table.text(options);
    if let Some(more) = shared.get(SEGMENTS_MAX..).filter(|more| !more.is_empty()) {
        let bytes: u64 = more.iter().map(|row| row.segment.bytes()).sum();
        let sentence = format!("and {} more with {} together", more.len(), ByteSize(bytes));
        text.push_str(&options.paragraph("", &sentence, Style::Usual));
    }
    for SegmentRow { segment, .. } in shared.iter().take(SEGMENTS_MAX) {
        if let Some(sysv) = &segment.sysv {
            let name = plain_within(&segment.name, NAME_COLUMNS);
            let sentence = format!(
                "{name}: id {}, owner {}, made by process {}, attached {} times in all",
                sysv.shmid, sysv.owner_uid, sysv.creator_pid, sysv.attached
            );
            text.push_str(&options.paragraph("", &sentence, Style::Usual));
        }
        if let Some(sampled) = &segment.sampled {
            let name = plain_within(&segment.name, NAME_COLUMNS);
            let sentence = sampled_sentence(&name, sampled);
            text.push_str(&options.paragraph("", &sentence, Style::Usual));
        }
    }
    text
}

/// Returns a sentence such as `/dev/shm/a: estimated from 10000 random pages, 9990 of them in
/// memory; 95 % intervals (Wilson): node 0 48.1 to 50.0 %, node 1 50.0 to 51.9 %`.
fn sampled_sentence(name: &str, sampled: &Sampled) -> String {
    let (pages, found) = (sampled.pages, sampled.pages_found);
    let shares = sampled.share_by_node.iter().map(|(node, share)| {
        format!(
            "node {node} {:.1} to {:.1} %",
            share.low * 100.0,
            share.high * 100.0
        )
    });
    let shares: Vec<String> = shares.collect();
    let shares = match sampled.share_margin {
        Some(margin) if shares.len() > NODE_COLUMNS_MAX => {
            format!("every node's share to within {:.1} %", margin * 100.0)
        }
        _ => shares.join(", "),
    };
    format!(
        "{name}: estimated from {}, {found} of them in memory; {:.0} % intervals \
         (Wilson): {shares}",
        counted(pages, "random page"),
        sampled.confidence * 100.0
    )
}

fn segment_cells(row: &SegmentRow<'_>) -> [String; 7] {
    let segment = &row.segment;
    let kind = match row.files {
        1 => segment.kind.word().to_owned(),
        files => format!("{files} in {}", segment.kind.word()),
    };
    let mut by_node = by_node_text(&segment.bytes_by_node);
    let others = [
        ("unknown", segment.bytes_without_node),
        ("never written", segment.never_written_bytes),
    ];
    for (word, bytes) in others.into_iter().filter(|(_, bytes)| *bytes > 0) {
        let comma = if by_node.is_empty() { "" } else { ", " };
        by_node += &format!("{comma}{word} {}", size(bytes));
    }
    let page = segment.page_bytes.map(|bytes| ByteSize(bytes).to_string());
    [
        plain_within(&segment.name, NAME_COLUMNS),
        kind,
        size(segment.bytes()),
        page.unwrap_or_default(),
        segment.processes.to_string(),
        plain_within(segment.policy.as_deref().unwrap_or(""), NAME_COLUMNS),
        by_node,
    ]
}

fn relations(residency: &Residency, options: &TextOptions) -> String {
    let relations = residency.relations.as_ref();
    relations.map_or(String::new(), |it| relations_text(it, options))
}

fn private(residency: &Residency, options: &TextOptions) -> String {
    if residency.private.is_empty() {
        return String::new();
    }
    let mut table = Table::of("class|>processes|>bytes|by node");
    for class in &residency.private {
        let cells = [
            plain_within(&class.class, NAME_COLUMNS),
            class.processes.to_string(),
            size(class.bytes_by_node.values().sum()),
            by_node_text(&class.bytes_by_node),
        ];
        table.row(cells);
    }
    options.heading("Private memory") + &table.text(options)
}

fn findings(findings: &[Finding], options: &TextOptions) -> String {
    match findings.is_empty() {
        true => String::new(),
        false => options.heading("Findings") + &findings_text(findings, Detail::Short, options),
    }
}

fn gaps(residency: &Residency, options: &TextOptions) -> String {
    if residency.gaps.is_empty() {
        return String::new();
    }
    let mut text = options.heading("What is missing");
    for gap in &residency.gaps {
        text.push_str(&options.paragraph("- ", gap, Style::Care));
    }
    text
}

#[cfg(test)]
mod tests {
    use model::{Layout, NodeId, SegmentKind, SegmentResidency, Severity};

    use super::*;

    #[test]
    fn totals_segments_and_findings_are_shown() {
        let residency = Residency {
            target: "oracle:slob".to_owned(),
            memory_nodes: "0-1".parse().unwrap(),
            complete: true,
            method: ResidencyMethod::Pagemap,
            layout: Layout::Interleaved,
            segments: vec![SegmentResidency {
                name: "/SYSV00000000 (deleted)".to_owned(),
                kind: SegmentKind::Sysv,
                page_bytes: Some(2 << 20),
                policy: Some("interleave:0-1".to_owned()),
                processes: 2,
                bytes_by_node: [(NodeId(0), 3 << 30), (NodeId(1), 1 << 30)].into(),
                ..SegmentResidency::default()
            }],
            bytes_by_node: [(NodeId(0), 3 << 30), (NodeId(1), 1 << 30)].into(),
            findings: vec![Finding {
                id: "memory-skew".to_owned(),
                severity: Severity::Warning,
                message: "75 % on node 0".to_owned(),
                ..Finding::default()
            }],
            ..Residency::default()
        };
        let text = residency_text(
            &residency,
            &TextOptions {
                width: 120,
                color: false,
            },
        );
        for words in [
            "4 GiB in 0 processes, exact",
            "75.0 %",
            "interleave:0-1",
            "0: 3.0 GiB, 1: 1.0 GiB",
            "warning  memory-skew: 75 % on node 0",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }
}
