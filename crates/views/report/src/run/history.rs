//! The stored runs as a table.

use model::{RunHeader, minute};

use crate::form::plain::plain_within;
use crate::form::style::{Style, TextOptions};
use crate::form::table::Table;
use crate::run::figures::{UNKNOWN, whole};
use crate::run::status::style;

/// Maximum width of a text in the table, in columns.
const TEXT_COLUMNS: usize = 24;

/// Formats runs in the given order, one per line.
pub fn history_text(headers: &[RunHeader], options: &TextOptions) -> String {
    if headers.is_empty() {
        return "No run is stored.\n".to_string();
    }
    let mut table = Table::of("run|started|experiment|host|>cases|>valid|ended");
    for header in headers {
        let text = |text: &str| (plain_within(text, TEXT_COLUMNS), Style::Usual);
        let trials = u64::from(header.trials_valid)
            + u64::from(header.trials_invalid)
            + u64::from(header.trials_failed);
        let lost = trials > u64::from(header.trials_valid);
        let cases = match header.skipped {
            0 => whole(header.cases.into()),
            skipped => format!("{} (+{skipped} skipped)", header.cases),
        };
        table.push(vec![
            text(&header.id),
            (
                plain_within(&minute(&header.started_at), TEXT_COLUMNS),
                Style::Usual,
            ),
            text(&named(header)),
            text(header.host.as_deref().unwrap_or(UNKNOWN)),
            (cases, Style::Usual),
            (
                format!("{} of {trials}", header.trials_valid),
                if lost { Style::Care } else { Style::Usual },
            ),
            ended(header),
        ]);
    }
    table.text(options)
}

/// The experiment, after the name that the user gave the run.
fn named(header: &RunHeader) -> String {
    match &header.label {
        Some(label) => format!("{label}: {}", header.experiment),
        None => header.experiment.clone(),
    }
}

fn ended(header: &RunHeader) -> (String, Style) {
    let word = header.status.name();
    match header.emulated {
        Some(true) => (format!("{word}, emulated machine"), Style::Care),
        _ => (word.to_owned(), style(header.status)),
    }
}
