//! How texts were read, as text.

use model::{Reading, counted};

use crate::form::style::{Style, TextOptions};

/// Formats what was recognised, where, and what to keep in mind; nothing without texts. Names of
/// files are others' words: an archive has any.
pub(crate) fn reading_text(reading: Option<&Reading>, options: &TextOptions) -> String {
    let Some(reading) = reading else {
        return String::new();
    };
    let mut text = options.heading("read from text");
    let shown = reading.parts.iter().take(PARTS_MAX);
    for part in shown {
        let line = format!("{}: {}", part.place, part.what);
        text += &options.paragraph("  ", &line, Style::Usual);
    }
    let more = reading.parts.len().saturating_sub(PARTS_MAX);
    if more > 0 {
        text += &options.paragraph("  ", &format!("… and {more} more"), Style::Usual);
    }
    let others = counted(reading.other_lines, "line");
    let others = format!("{others} around it not recognised");
    text += &options.paragraph("  ", &others, Style::Usual);
    for remark in &reading.remarks {
        text += &options.paragraph("  note: ", remark, Style::Usual);
    }
    text
}

/// How many parts are shown: a sosreport has hundreds of files.
const PARTS_MAX: usize = 12;

/// Formats what to fetch next.
pub(crate) fn fetch_text(reading: Option<&Reading>, options: &TextOptions) -> String {
    let Some(reading) = reading.filter(|it| !it.fetch_next.is_empty()) else {
        return String::new();
    };
    let mut text = options.heading("to say more, add the output of");
    for fetch in &reading.fetch_next {
        text += &format!("  # {}\n  {}\n", fetch.what, fetch.command);
    }
    text + "  # or all of it, on a host without numalab: what `numalab capture --script` prints\n"
}
