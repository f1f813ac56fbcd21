//! Reads reports in HTML as the lines of a report in text, which the other modules read.

mod page;
mod read;
mod table;

pub(crate) use read::{is_html, lines_of};
pub(crate) use table::BEHIND_FIRST;
