//! What all forms of a matrix in a file share: its parts, and what a word in it may be.

use linux::{Error, TextFile};
use model::{DistanceTable, ID_MAX, MatrixCell, NodeId, NodeMatrix, counted};

/// The most nodes a kernel can be built for (`NODES_SHIFT` 10); also bounds our work.
pub(crate) const NODES_MAX: usize = 1024;

/// No memory takes a second to answer, and no latency is 0.
const NS_MAX: f64 = 1e9;

/// A matrix as read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixFile {
    /// Latencies in ns, or bandwidths in bytes per second.
    pub matrix: NodeMatrix,
    /// The firmware's distances, if the file has them.
    pub distances: Option<DistanceTable>,
    /// What a reader should know about how it was measured.
    pub note: Option<String>,
    /// Whether it was measured on an emulated machine, so that its figures mean nothing.
    pub is_emulated: bool,
}

/// Parses a cell: a latency in ns, or one of the words for none.
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

/// Checks that no id occurs twice and that there are not too many.
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

/// The error for a row whose number of cells differs from the number of columns.
pub(crate) fn wrong_count(file: &TextFile, line: usize, expected: usize, found: usize) -> Error {
    file.unexpected(line, cells(expected), cells(found))
}

/// `1 cell`, `2 cells`.
pub(crate) fn cells(count: usize) -> String {
    counted(count, "cell")
}

/// Whether the file begins like a JSON object.
pub(crate) fn is_json(file: &TextFile) -> bool {
    file.text().trim_start().starts_with('{')
}
