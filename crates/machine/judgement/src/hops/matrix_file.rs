//! Reads matrices that were measured elsewhere: our own documents, tables, Intel MLC's output.

use super::matrix_words::{MatrixFile, is_json};
use super::{matrix_json, matrix_mlc, matrix_table};
use linux::{Error, TextFile};

/// Reads a matrix of latencies in ns in any known form: a document `numalab.latency/1`; the text of
/// Intel MLC, with anything else it prints; or a table of numbers between white space or commas,
/// with or without headings.
///
/// # Errors
/// When it has none of these forms, or too few or too many cells; names file, line and what was
/// expected.
pub fn matrix_of_file(file: &TextFile) -> Result<MatrixFile, Error> {
    if is_json(file) {
        return matrix_json::read(file);
    }
    if matrix_mlc::is_mlc(file) {
        return matrix_mlc::read(file);
    }
    Ok(MatrixFile {
        matrix: matrix_table::read(file)?,
        distances: None,
        note: None,
        is_emulated: false,
    })
}

#[cfg(test)]
mod tests;
