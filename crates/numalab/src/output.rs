//! Data to stdout, talk to stderr. A reader who has seen enough is no error.

use std::io::{self, Write};

use model::exit::ExitCode;

use crate::failure::Failure;

/// Writes data to stdout. A closed pipe is success (as in `numalab … | head`).
pub fn data(text: &str) -> Result<(), Failure> {
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

/// Says something to the person at the terminal.
pub fn talk(text: &str) {
    // Who closed stderr does not want to be told.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes a JSON document to stdout.
pub fn json(document: &impl serde::Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(document).map_err(|error| {
        Failure::new(ExitCode::Bug, format!("cannot write the document: {error}"))
    })?;
    text.push('\n');
    data(&text)
}
