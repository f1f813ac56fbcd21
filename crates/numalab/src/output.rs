//! Data to stdout, messages to stderr. A closed pipe is not an error. Both may contain names of
//! processes and files that others chose, so nothing that is written here can move the cursor.

use std::io::{self, Write};

use model::exit::ExitCode;

use crate::failure::Failure;

/// Writes data to stdout. A closed pipe is success (as in `numalab … | head`).
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    write(&report::plain_lines(text))
}

fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::new(
            ExitCode::Bug,
            format!("cannot write to stdout: {error}"),
        )),
        Ok(()) => Ok(()),
    }
}

/// Writes several lines to stderr; numalab itself made the line ends.
pub(crate) fn talk_lines(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", report::plain_lines(text));
}

/// Writes one line to stderr. A line end in a name starts no new line.
pub(crate) fn talk(line: &str) {
    // If stderr is closed, there is no way to report that.
    let _ = writeln!(io::stderr().lock(), "{}", report::plain(line));
}

/// Writes a JSON document to stdout.
pub(crate) fn json(document: &impl serde::Serialize) -> Result<(), Failure> {
    write(&json_text(document)?)
}

/// Renders a JSON document as text that is safe for a terminal, with a line end.
pub(crate) fn json_text(document: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(document).map_err(|error| {
        Failure::new(ExitCode::Bug, format!("cannot write the document: {error}"))
    })?;
    Ok(report::plain_json(&text) + "\n")
}
