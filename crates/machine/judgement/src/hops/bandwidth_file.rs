//! Reads a document `numalab.bandwidth/1` as a matrix, and ignores what else it holds.

use linux::{Error, TextFile};
use model::{MatrixCell, NodeId, NodeMatrix};
use serde::Deserialize;

use super::matrix_json::{Rows, check_ids, check_size, document};
use super::matrix_words::MatrixFile;

/// Name and version of the document.
const FORMAT: &str = "numalab.bandwidth/1";

/// More than any memory gives: 10^18 bytes per second.
const BYTES_PER_S_MAX: f64 = 1e18;

#[derive(Deserialize)]
struct Document {
    cpu_nodes: Vec<NodeId>,
    memory_nodes: Vec<NodeId>,
    bytes_per_s: Rows<f64>,
    bytes_per_s_low: Option<Rows<f64>>,
    bytes_per_s_high: Option<Rows<f64>>,
    confidence: Option<f64>,
    #[serde(default)]
    not_measured: Vec<NotMeasured>,
    machine: Option<Machine>,
}

#[derive(Deserialize)]
struct NotMeasured {
    cpu_node: NodeId,
    memory_node: NodeId,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Machine {
    emulated: Option<bool>,
}

/// Reads a matrix of bandwidths in bytes per second from a document `numalab.bandwidth/1`.
///
/// # Errors
/// When it is none, has too few or too many cells, or figures that no memory has.
pub fn bandwidths_of_file(file: &TextFile) -> Result<MatrixFile, Error> {
    let document: Document = document(file, FORMAT)?;
    let (cpu_nodes, memory_nodes) = (&document.cpu_nodes, &document.memory_nodes);
    for nodes in [cpu_nodes, memory_nodes] {
        check_ids(file, nodes)?;
    }
    let size = (cpu_nodes.len(), memory_nodes.len());
    let rows = [
        ("bytes_per_s", Some(&document.bytes_per_s)),
        ("bytes_per_s_low", document.bytes_per_s_low.as_ref()),
        ("bytes_per_s_high", document.bytes_per_s_high.as_ref()),
    ];
    for (name, rows) in rows {
        let Some(rows) = rows else { continue };
        check_size(file, name, rows, size)?;
        let is_wrong = |it: &&f64| !(**it > 0.0 && **it <= BYTES_PER_S_MAX);
        if let Some(wrong) = rows.iter().flatten().flatten().find(is_wrong) {
            let expected = format!("bytes per second above 0 in {name}");
            return Err(file.unexpected(1, expected, wrong.to_string()));
        }
    }
    let figure = |rows: Option<&Rows<f64>>, row: usize, column: usize| rows?[row][column];
    let mut matrix = NodeMatrix::empty(cpu_nodes.clone(), memory_nodes.clone());
    for (row, cells) in document.bytes_per_s.iter().enumerate() {
        for (column, value) in cells.iter().copied().enumerate() {
            *matrix.cell_mut(row, column) = MatrixCell {
                value,
                low: figure(document.bytes_per_s_low.as_ref(), row, column),
                high: figure(document.bytes_per_s_high.as_ref(), row, column),
                confidence: document.confidence,
                values: u32::from(value.is_some()),
                ..MatrixCell::default()
            };
        }
    }
    for cell in document.not_measured {
        if let Some((row, column)) = matrix.place(cell.cpu_node, cell.memory_node) {
            let absent_because = &mut matrix.cell_mut(row, column).absent_because;
            *absent_because = absent_because.take().or(cell.reason);
        }
    }
    let machine = document.machine;
    Ok(MatrixFile {
        matrix,
        distances: None,
        note: None,
        is_emulated: machine.is_some_and(|machine| machine.emulated == Some(true)),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<MatrixFile, Error> {
        bandwidths_of_file(&TextFile::new("bandwidth.json", text))
    }

    const DOCUMENT: &str = r#"{
        "format": "numalab.bandwidth/1", "cpu_nodes": [0], "memory_nodes": [0, 2],
        "bytes_per_s": [[2e11, null]], "bytes_per_s_low": [[1.9e11, null]],
        "not_measured": [{"cpu_node": 0, "memory_node": 2, "reason": "no room"}],
        "machine": {"emulated": true}
    }"#;

    #[test]
    fn a_document_is_a_matrix_with_its_gaps() {
        let read = read(DOCUMENT).unwrap();
        assert!(read.is_emulated);
        let cell = |node| read.matrix.cell(NodeId(0), NodeId(node)).unwrap();
        assert_eq!((cell(0).value, cell(0).low), (Some(2e11), Some(1.9e11)));
        assert_eq!(cell(2).value, None);
        assert_eq!(cell(2).absent_because.as_deref(), Some("no room"));
    }

    #[test]
    fn what_is_no_such_document_is_refused_by_name() {
        let check = |from: &str, to: &str, expected: &str| {
            let error = read(&DOCUMENT.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("bandwidth/1", "latency/1", "numalab.bandwidth/1");
        check("[0, 2]", "[0, 0]", "every node once");
        check("[0, 2]", "[0]", "1 cell");
        check("2e11", "-1", "bytes per second above 0 in bytes_per_s");
        check("1.9e11", "0", "bytes_per_s_low");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = read(&text);
            let _ = read(&DOCUMENT.replace("2e11", &text));
        }
    }
}
