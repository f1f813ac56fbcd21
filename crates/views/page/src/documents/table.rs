//! Tables of figures.

use maud::{Markup, html};
use model::counted;
use report::{Side, Table};

/// Maximum number of rows of a table.
pub(crate) const ROWS_MAX: usize = 1024;
/// Maximum number of rows of a table that is not folded.
const ROWS_OPEN: usize = 16;
/// Maximum number of characters in one cell.
const TEXT_MAX: usize = 400;

/// Returns a table with its caption, folded if it is long; nothing where there are no rows.
pub(crate) fn table(caption: &str, table: &Table) -> Markup {
    let rows = table.rows().len();
    if rows == 0 {
        return html! {};
    }
    let whole = whole_table(caption, table);
    match rows > ROWS_OPEN {
        true => html! {
            details { summary { (caption) ": " (counted(rows, "row")) } (whole) }
        },
        false => whole,
    }
}

fn whole_table(caption: &str, table: &Table) -> Markup {
    let sides: Vec<Side> = table.columns().map(|(_, side)| side).collect();
    let class = |column: usize| (sides[column] == Side::Right).then_some("number");
    // What a row is about is its first cell that is no figure; it stays while figures scroll.
    let header = sides.iter().position(|side| *side == Side::Left);
    let header = header.unwrap_or(0);
    let more = table.rows().len().saturating_sub(ROWS_MAX);
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table.figures {
                caption { (caption) }
                thead { tr { @for (column, (title, _)) in table.columns().enumerate() {
                    th class=[class(column)] scope="col" { (title) }
                } } }
                tbody {
                    @for row in table.rows().take(ROWS_MAX) {
                        tr { @for (column, cell) in row.enumerate() {
                            @if column == header {
                                th class=[class(column)] scope="row" { (cut(cell)) }
                            } @else {
                                td class=[class(column).map(|it| of_cell(it, cell))] { (cut(cell)) }
                            }
                        } }
                    }
                }
            }
        }
        @if more > 0 { p { "Left out of the table: " (counted(more, "more row")) "." } }
    }
}

/// A cell of a column of figures may say why there is none, in words that need more lines.
fn of_cell(class: &'static str, cell: &str) -> &'static str {
    match cell.starts_with(char::is_alphabetic) {
        true => "reason",
        false => class,
    }
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
