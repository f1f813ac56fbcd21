//! The page of `numalab.balance/1`.

use maud::{Markup, html};
use model::{BalanceReport, BalanceSample, ByteSize, MoveReport, MovedPart};
use report::{Fields, Table, TextOptions, balance_text};

use super::error::Error;
use super::frame::{Content, as_text};
use super::guard::fields;
use super::residency::by_node;
use super::table::{cut, or_unknown, table};
use super::top::Top;
use crate::pictures::{balance_course, move_map};

/// Reads a document.
pub(crate) fn read_balance(text: &str) -> Result<BalanceReport, Error> {
    fields(text, BalanceReport::FORMAT)
}

/// Returns the page's content.
pub(crate) fn balance_content(report: &BalanceReport) -> Content {
    let samples: &[BalanceSample] = &report.samples;
    let top = Top {
        answer: report::balance_outcome(report),
        target: Some(report.target.clone()),
        ..Top::default()
    };
    let body = html! {
        @if report.segments.iter().all(|segment| segment.bytes_by_node_after.is_some()) {
            section {
                h2 { "Before and after" }
                (move_map(&as_move(report)))
                (segments(report))
            }
        }
        @if !samples.is_empty() {
            section {
                h2 { "Meanwhile" }
                (balance_course(samples))
            }
        }
        (as_text(&balance_text(report, &TextOptions::default())))
    };
    Content { top, body }
}

fn segments(report: &BalanceReport) -> Markup {
    let rows = report.segments.iter().map(|segment| {
        let after = segment.bytes_by_node_after.as_ref();
        vec![
            cut(&segment.name),
            cut(&segment.kind),
            by_node(&segment.bytes_by_node_before),
            or_unknown(after.map(by_node)),
            or_unknown(segment.bytes_elsewhere.map(ByteSize)),
        ]
    });
    let titles = "segment|kind|before|after|>on another node than before";
    table("Segments", &Table::of(titles).with(rows))
}

/// The same as a move whose plan is its result, for the picture that both have.
fn as_move(report: &BalanceReport) -> MoveReport {
    let parts = report.segments.iter().map(|segment| {
        let after = segment.bytes_by_node_after.clone();
        MovedPart {
            name: segment.name.clone(),
            kind: segment.kind.clone(),
            shared: true,
            page_bytes: segment.page_bytes,
            bytes_by_node_before: segment.bytes_by_node_before.clone(),
            bytes_by_node_planned: after.clone().unwrap_or_default(),
            bytes_by_node_after: after,
            ..MovedPart::default()
        }
    });
    MoveReport {
        target: report.target.clone(),
        parts: parts.collect(),
        ..MoveReport::default()
    }
}
