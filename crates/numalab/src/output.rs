//! Data to stdout, talk to stderr. A reader who has seen enough is no error. Names that others have
//! given to processes and files are in both: nothing that goes through here moves a cursor.

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

/// Says several lines, whose ends are of our own making.
pub(crate) fn talk_lines(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", report::plain_lines(text));
}

/// Says one line to the person at the terminal: a name with a line end in it adds none.
pub(crate) fn talk(line: &str) {
    // Who closed stderr does not want to be told.
    let _ = writeln!(io::stderr().lock(), "{}", report::plain(line));
}

/// Writes a JSON document to stdout.
pub(crate) fn json(document: &impl serde::Serialize) -> Result<(), Failure> {
    write(&json_text(document)?)
}

/// The text of a JSON document, fit for a terminal, with a line end.
pub(crate) fn json_text(document: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(document).map_err(|error| {
        Failure::new(ExitCode::Bug, format!("cannot write the document: {error}"))
    })?;
    Ok(report::plain_json(&text) + "\n")
}
