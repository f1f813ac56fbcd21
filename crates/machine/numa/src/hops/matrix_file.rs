//! Matrices that were measured elsewhere, as text: our own documents, tables, Intel MLC's output.

use linux::{Error, TextFile};
use model::{DistanceTable, ID_MAX, MatrixCell, NodeId, NodeMatrix};

use super::{matrix_json, matrix_mlc, matrix_table};

/// The most nodes a kernel can be built for (`NODES_SHIFT` 10), and what bounds our work.
pub(crate) const NODES_MAX: usize = 1024;

/// No memory takes a second to answer, and no figure is meant to be 0.
const NS_MAX: f64 = 1e9;

/// A matrix as a file has it.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixFile {
    /// Latencies in ns.
    pub matrix: NodeMatrix,
    /// The firmware's distances, if the file has them, too.
    pub distances: Option<DistanceTable>,
    /// What should be known about how it was measured.
    pub note: Option<String>,
    /// Whether it was measured on an emulated machine, so that its figures mean nothing.
    pub is_emulated: bool,
}

/// Reads a matrix of latencies in ns in any of the forms that are known: a document
/// `numalab.latency/1`; the text of Intel MLC, with whatever else it prints; or a table of numbers
/// between white space or commas, with or without headings.
///
/// # Errors
/// When it is none of them, or a cell is missing or more than expected; names file, line and what
/// was expected.
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

/// Whether the file begins like a JSON object.
pub(crate) fn is_json(file: &TextFile) -> bool {
    file.text().trim_start().starts_with('{')
}

/// The cell that a word stands for: a latency in ns, or one of the words for none.
pub(crate) fn cell_of_word(file: &TextFile, line: usize, word: &str) -> Result<MatrixCell, Error> {
    if is_no_figure(word) {
        return Ok(MatrixCell::absent("not measured"));
    }
    let ns = word.parse().ok().filter(|ns| is_latency(*ns));
    ns.map(MatrixCell::of)
        .ok_or_else(|| file.malformed(line, "a latency in ns, or - where there is none", word))
}

/// Whether a number can be a latency in ns.
pub(crate) fn is_latency(ns: f64) -> bool {
    ns > 0.0 && ns <= NS_MAX
}

/// Words for a cell that was not measured.
pub(crate) fn is_no_figure(word: &str) -> bool {
    ["-", "", "null", "na", "n/a", "nan"].contains(&word.to_ascii_lowercase().as_str())
}

/// The id of a node in a heading: `3`, `3:`, `node3`, `node 3` without its space.
pub(crate) fn node_of_word(word: &str) -> Option<NodeId> {
    let digits = word.trim_end_matches(':');
    let digits = digits.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let id = digits.parse().ok().filter(|id| *id <= ID_MAX)?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(NodeId(id))
}

/// Checks that no id comes twice and that there are not too many.
pub(crate) fn check_nodes(file: &TextFile, line: usize, nodes: &[NodeId]) -> Result<(), Error> {
    let mut sorted = nodes.to_vec();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        let found = format!("node {} twice", pair[0]);
        return Err(file.unexpected(line, "every node once", found));
    }
    if nodes.len() > NODES_MAX {
        let expected = format!("at most {NODES_MAX} nodes");
        return Err(file.unexpected(line, expected, nodes.len().to_string()));
    }
    Ok(())
}

/// The error that a row has another number of cells than there are columns.
pub(crate) fn wrong_count(file: &TextFile, line: usize, expected: usize, found: usize) -> Error {
    file.unexpected(line, cells(expected), cells(found))
}

/// `1 cell`, `2 cells`.
pub(crate) fn cells(count: usize) -> String {
    match count {
        1 => "1 cell".to_owned(),
        count => format!("{count} cells"),
    }
}

#[cfg(test)]
mod tests;
