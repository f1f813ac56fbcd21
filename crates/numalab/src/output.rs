//! Data to stdout, messages to stderr. A closed pipe or terminal is not an error. Both may contain
//! names of processes and files that others chose, so nothing that is written here can move the
//! cursor. The layout of text is that of the terminal, if stdout is one.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;

use model::exit::ExitCode;
use report::TextOptions;

use crate::failure::Failure;
use crate::measuring::run_id;

/// Writes data to stdout. A closed pipe is success (as in `numalab … | head`), and so is a terminal
/// that is gone.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    write(&report::plain_lines(text)).map(|_| ())
}

/// Writes to stdout, and returns whether anybody still reads it.
fn write(text: &str) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) if error.raw_os_error() == Some(IO_ERROR) && is_device() => Ok(false),
        Err(error) => Err(Failure::new(
            ExitCode::Bug,
            format!("cannot write to stdout: {error}"),
        )),
        Ok(()) => Ok(true),
    }
}

/// `EIO`: of a terminal, that it is gone (write(2)).
const IO_ERROR: i32 = 5;

/// Whether stdout is a device, as a terminal is also when it is gone and no longer says so itself.
fn is_device() -> bool {
    let stdout = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    let status = stdout.and_then(|stdout| stdout.metadata());
    status.is_ok_and(|status| status.file_type().is_char_device())
}

/// Writes help to stdout, with its emphasis if that is a terminal.
pub(crate) fn help(text: &clap::builder::StyledStr) -> Result<(), Failure> {
    match text_options().color {
        true => data(&text.ansi().to_string()),
        false => data(&text.to_string()),
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
    write(&json_text(document)?).map(|_| ())
}

/// A document with where and when it was made.
#[derive(Debug, serde::Serialize)]
struct Signed<'d, T> {
    #[serde(flatten)]
    document: &'d T,
    taken: Taken,
}

/// Where and when a document was made.
#[derive(Debug, serde::Serialize)]
struct Taken {
    /// `uname -n`.
    host: String,
    /// RFC 3339, in the zone of the host.
    at: String,
}

/// Renders a JSON document as [`json_text`] does, with its host and the moment if it is of this
/// machine, and not of a captured one.
pub(crate) fn json_text_of(
    document: &impl serde::Serialize,
    is_of_here: bool,
) -> Result<String, Failure> {
    if !is_of_here {
        return json_text(document);
    }
    let (host, _) = linux::process::host_and_kernel();
    let at = run_id::rfc_3339(&jiff::Zoned::now());
    json_text(&Signed {
        document,
        taken: Taken { host, at },
    })
}

/// Writes what [`json_text_of`] renders to stdout.
pub(crate) fn json_of(document: &impl serde::Serialize, is_of_here: bool) -> Result<(), Failure> {
    write(&json_text_of(document, is_of_here)?).map(|_| ())
}

/// Writes a JSON document to stdout, on one line, and returns whether anybody still reads.
pub(crate) fn json_line(document: &impl serde::Serialize) -> Result<bool, Failure> {
    let text = serde_json::to_string(document).map_err(no_document)?;
    write(&(report::plain_json(&text) + "\n"))
}

/// Renders a JSON document as text that is safe for a terminal, with a line end.
pub(crate) fn json_text(document: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(document).map_err(no_document)?;
    Ok(report::plain_json(&text) + "\n")
}

fn no_document(error: serde_json::Error) -> Failure {
    Failure::new(ExitCode::Bug, format!("cannot write the document: {error}"))
}

/// Columns if stdout is not a terminal or does not report them.
const WIDTH_DEFAULT: usize = 80;
/// Columns beyond which a report does not become more readable.
const WIDTH_MAX: usize = 140;
/// Columns below which a table cannot be laid out.
const WIDTH_MIN: usize = 60;

/// Whether the locale of this process has no UTF-8 (locale(7)): by the first of its variables that
/// is set; none is that of C.
pub(crate) fn is_ascii() -> bool {
    let variables = ["LC_ALL", "LC_CTYPE", "LANG"].iter();
    let mut values = variables.filter_map(std::env::var_os);
    let locale = values.find(|it| !it.is_empty()).unwrap_or_default();
    let locale = locale.to_string_lossy().to_lowercase().replace('-', "");
    !locale.contains("utf8")
}

/// Returns the options for stdout. Colour only on a terminal, and not if `NO_COLOR` is set and not
/// empty (no-color.org).
pub(crate) fn text_options() -> TextOptions {
    let stdout = io::stdout();
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
