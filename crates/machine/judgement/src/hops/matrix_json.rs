//! Reads a document `numalab.latency/1` as a matrix, and ignores what else it holds.

use linux::{Error, TextFile};
use model::{DistanceTable, ID_MAX, MatrixCell, NodeId, NodeMatrix, counted};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::matrix_words::{MatrixFile, check_nodes, is_latency, wrong_count};

/// Name and version of the document.
const FORMAT: &str = "numalab.latency/1";

/// Cells by row and column.
pub(crate) type Rows<T> = Vec<Vec<Option<T>>>;

#[derive(Deserialize)]
struct Document {
    cpu_nodes: Vec<NodeId>,
    memory_nodes: Vec<NodeId>,
    ns: Rows<f64>,
    ns_low: Option<Rows<f64>>,
    ns_high: Option<Rows<f64>>,
    confidence: Option<f64>,
    distances: Option<Rows<u32>>,
    machine: Option<Machine>,
}

#[derive(Deserialize)]
struct Machine {
    emulated: Option<bool>,
}

#[derive(Deserialize)]
struct Format {
    format: String,
}

/// Reads the document.
pub(crate) fn read(file: &TextFile) -> Result<MatrixFile, Error> {
    let document: Document = document(file, FORMAT)?;
    let (cpu_nodes, memory_nodes) = (document.cpu_nodes, document.memory_nodes);
    for nodes in [&cpu_nodes, &memory_nodes] {
        check_ids(file, nodes)?;
    }
    let size = (cpu_nodes.len(), memory_nodes.len());
    check_size(file, "ns", &document.ns, size)?;
    for (name, rows) in [("ns_low", &document.ns_low), ("ns_high", &document.ns_high)] {
        if let Some(rows) = rows {
            check_size(file, name, rows, size)?;
        }
    }
    let figure = |rows: Option<&Rows<f64>>, row: usize, column: usize| {
        rows.and_then(|rows| rows[row][column])
    };
    let mut matrix = NodeMatrix::empty(cpu_nodes.clone(), memory_nodes.clone());
    for (row, cells) in document.ns.iter().enumerate() {
        for (column, value) in cells.iter().copied().enumerate() {
            if let Some(ns) = value.filter(|ns| !is_latency(*ns)) {
                let found = format!("{ns} from node {}", cpu_nodes[row]);
                return Err(file.unexpected(1, "latencies in ns above 0", found));
            }
            *matrix.cell_mut(row, column) = MatrixCell {
                value,
                low: figure(document.ns_low.as_ref(), row, column),
                high: figure(document.ns_high.as_ref(), row, column),
                confidence: document.confidence,
                values: u32::from(value.is_some()),
                ..MatrixCell::default()
            };
        }
    }
    let distances = match document.distances {
        Some(rows) => {
            check_size(file, "distances", &rows, size)?;
            DistanceTable::of_parts(cpu_nodes, memory_nodes, rows)
        }
        None => None,
    };
    let machine = document.machine;
    let is_emulated = machine.is_some_and(|machine| machine.emulated == Some(true));
    let note = "It was measured on an emulated machine: its figures say nothing.";
    Ok(MatrixFile {
        matrix,
        distances,
        note: is_emulated.then(|| note.to_owned()),
        is_emulated,
    })
}

/// Reads a document of the format `expected`.
pub(crate) fn document<T: DeserializeOwned>(file: &TextFile, expected: &str) -> Result<T, Error> {
    let form = format!("a document {expected}");
    let malformed = |error: &serde_json::Error| {
        let text: String = error.to_string().chars().take(120).collect();
        file.unexpected(
            error.line().max(1),
            form.clone(),
            text.escape_debug().to_string(),
        )
    };
    let header: Format = serde_json::from_str(file.text()).map_err(|error| malformed(&error))?;
    if header.format != expected {
        return Err(file.malformed(1, form, &header.format));
    }
    serde_json::from_str(file.text()).map_err(|error| malformed(&error))
}

/// Checks the ids of a list.
pub(crate) fn check_ids(file: &TextFile, nodes: &[NodeId]) -> Result<(), Error> {
    if let Some(node) = nodes.iter().find(|node| node.0 > ID_MAX) {
        let expected = format!("ids of nodes up to {ID_MAX}");
        return Err(file.unexpected(1, expected, node.to_string()));
    }
    check_nodes(file, 1, nodes)
}

/// Checks that there are this many rows with this many cells each.
pub(crate) fn check_size<T>(
    file: &TextFile,
    name: &str,
    rows: &Rows<T>,
    (height, width): (usize, usize),
) -> Result<(), Error> {
    if rows.len() != height {
        let expected = format!(
            "{} in {name}, one for each of cpu_nodes",
            counted(height, "row")
        );
        return Err(file.unexpected(1, expected, rows.len().to_string()));
    }
    let wrong = rows.iter().find(|row| row.len() != width);
    wrong.map_or(Ok(()), |row| Err(wrong_count(file, 1, width, row.len())))
}
