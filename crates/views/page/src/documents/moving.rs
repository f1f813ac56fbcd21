//! The page of `numalab.move/1`.

use maud::{Markup, html};
use model::{ByteSize, MoveReport, NodeSet, node_words};
use report::{Fields, Table, TextOptions, move_text};

use super::error::Error;
use super::frame::{Content, as_text};
use super::guard::fields;
use super::residency::by_node;
use super::table::{UNKNOWN, cut, table};
use super::top::Top;
use crate::pictures::move_map;

/// Reads a document.
pub(crate) fn read_move(text: &str) -> Result<MoveReport, Error> {
    fields(text, MoveReport::FORMAT)
}

/// Returns the page's content.
pub(crate) fn move_content(report: &MoveReport) -> Content {
    let top = Top {
        answer: answer(report),
        target: Some(report.target.clone()),
        ..Top::default()
    };
    let body = html! {
        section {
            h2 { "Before and after" }
            (move_map(report))
            (parts(report))
        }
        @if !report.refused.is_empty() || !report.notes.is_empty() {
            section {
                h2 { "Notes" }
                ul {
                    @for refused in report.refused.iter().take(40) {
                        li { (ByteSize(refused.bytes)) " stayed: " (cut(&refused.reason)) }
                    }
                    @for note in report.notes.iter().take(40) { li { (cut(note)) } }
                }
            }
        }
        section {
            h2 { "Figures" }
            (as_text(&move_text(report, &TextOptions::default())))
        }
    };
    Content { top, body }
}

fn answer(report: &MoveReport) -> String {
    let to = match report.to.parse::<NodeSet>() {
        Ok(nodes) if !nodes.is_empty() => node_words(&nodes),
        _ => report.to.clone(),
    };
    let all = ByteSize(report.bytes_to_move);
    match report.bytes_moved {
        Some(moved) => {
            let moved = ByteSize(moved);
            format!("{moved} of {all} moved to {to}.")
        }
        None => format!("A plan: {all} would move to {to}; nothing was changed."),
    }
}

fn parts(report: &MoveReport) -> Markup {
    let rows = report.parts.iter().map(|part| {
        let after = part.bytes_by_node_after.as_ref();
        vec![
            cut(&part.name),
            cut(&part.kind),
            by_node(&part.bytes_by_node_before),
            by_node(&part.bytes_by_node_planned),
            after.map_or_else(|| UNKNOWN.to_owned(), by_node),
            ByteSize(part.bytes_to_move).to_string(),
        ]
    });
    let titles = "part|kind|before|planned|after|>to move";
    table("Parts", &Table::of(titles).with(rows))
}
