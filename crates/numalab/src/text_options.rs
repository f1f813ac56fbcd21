//! The layout of text for the current terminal.

use std::io::IsTerminal;

use report::TextOptions;

/// Columns if stdout is not a terminal or does not report them.
const WIDTH_DEFAULT: usize = 80;
/// Columns beyond which a report does not become more readable.
const WIDTH_MAX: usize = 140;
/// Columns below which a table cannot be laid out.
const WIDTH_MIN: usize = 60;

/// Returns the options for stdout. Colour only on a terminal, and not if `NO_COLOR` is set and not
/// empty (no-color.org).
pub(crate) fn for_stdout() -> TextOptions {
    let stdout = std::io::stdout();
    let columns = stdout
        .is_terminal()
        .then(|| linux::process::terminal_columns(&stdout))
        .flatten();
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    TextOptions {
        width: columns.map_or(WIDTH_DEFAULT, |columns| columns.clamp(WIDTH_MIN, WIDTH_MAX)),
        color: stdout.is_terminal() && !no_colour,
    }
}
