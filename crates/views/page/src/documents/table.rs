//! Tables of figures.

use maud::{Markup, html};
use model::counted;

/// Maximum number of rows of a table.
pub(crate) const ROWS_MAX: usize = 1024;
/// Maximum number of rows of a table that is not folded.
const ROWS_OPEN: usize = 16;
/// Maximum number of characters in one cell.
const TEXT_MAX: usize = 400;

/// Returns a table with its caption, folded if it is long; nothing where there are no rows.
pub(crate) fn table(caption: &str, head: &[&str], rows: &[Vec<String>]) -> Markup {
    if rows.is_empty() {
        return html! {};
    }
    let whole = whole_table(caption, head, rows);
    match rows.len() > ROWS_OPEN {
        true => html! {
            details { summary { (caption) ": " (counted(rows.len(), "row")) } (whole) }
        },
        false => whole,
    }
}

fn whole_table(caption: &str, head: &[&str], rows: &[Vec<String>]) -> Markup {
    let shown = rows.iter().take(ROWS_MAX);
    // What a row is about is its first cell that is no figure; it stays while figures scroll.
    let header = rows[0].iter().position(|cell| !is_figure(cell));
    let header = header.unwrap_or(0);
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table.figures {
                caption { (caption) }
                thead { tr { @for (column, name) in head.iter().enumerate() {
                    @let is_number = rows[0].get(column).is_some_and(|cell| is_figure(cell));
                    th class=[number(is_number)] scope="col" { (name) }
                } } }
                tbody {
                    @for row in shown {
                        tr { @for (column, cell) in row.iter().enumerate() {
                            @if column == header {
                                th class=[number(is_figure(cell))] scope="row" { (cut(cell)) }
                            } @else {
                                td class=[number(is_figure(cell))] { (cut(cell)) }
                            }
                        } }
                    }
                }
            }
        }
        @if rows.len() > ROWS_MAX {
            p { "Left out of the table: " (counted(rows.len() - ROWS_MAX, "more row")) "." }
        }
    }
}

/// The class of figures.
fn number(is_figure: bool) -> Option<&'static str> {
    is_figure.then_some("number")
}

/// Whether a text begins with a number: it is aligned right.
fn is_figure(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) || [UNKNOWN, "-"].contains(&text)
}

/// What stands for an unknown figure.
pub(crate) const UNKNOWN: &str = "unknown";

/// A text that others chose, as it may be shown.
pub(crate) fn cut(text: &str) -> String {
    let mut characters = text.chars();
    let start: String = characters.by_ref().take(TEXT_MAX).collect();
    let more = if characters.next().is_some() {
        "…"
    } else {
        ""
    };
    format!("{}{more}", report::plain(&start))
}

/// The text of a value, or that it is unknown.
pub(crate) fn or_unknown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), |value| value.to_string())
}
