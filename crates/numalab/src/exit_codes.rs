//! The table of exit codes as help text.

use std::fmt::Write;

use model::exit::ExitCode;

/// Returns the exit codes, one per line.
pub(crate) fn help() -> String {
    let mut text = "Exit codes:\n".to_owned();
    for (_, number, meaning) in ExitCode::TABLE {
        writeln!(text, "  {number:>3}  {meaning}").expect("writing to a string cannot fail");
    }
    text
}
