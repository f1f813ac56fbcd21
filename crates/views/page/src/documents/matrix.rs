//! The matrix of a document: its rows of figures beside lists of nodes, checked and put together.

use model::{ID_MAX, MatrixCell, NodeId, NodeMatrix, counted};
use serde::Deserialize;

use super::error::Error;

/// Maximum number of nodes in a row or column: the most that the kernel can be built for
/// (`CONFIG_NODES_SHIFT` of 10).
const NODES_MAX: usize = 1024;

/// Rows of figures; null where unknown.
pub(crate) type Rows<T> = Vec<Vec<Option<T>>>;

/// A cell with the reason why it has no figure.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct CellReason {
    cpu_node: NodeId,
    memory_node: NodeId,
    #[serde(default)]
    reason: Option<String>,
}

/// The parts of a matrix in a document.
#[derive(Debug)]
pub(crate) struct MatrixParts<'d> {
    /// The name of the figures' field.
    pub(crate) field: &'static str,
    pub(crate) cpu_nodes: &'d [NodeId],
    pub(crate) memory_nodes: &'d [NodeId],
    pub(crate) values: &'d Rows<f64>,
    pub(crate) lows: Option<&'d Rows<f64>>,
    pub(crate) highs: Option<&'d Rows<f64>>,
    pub(crate) confidence: Option<f64>,
    pub(crate) not_measured: &'d [CellReason],
    pub(crate) unsteady: &'d [CellReason],
}

/// Puts a matrix together.
pub(crate) fn matrix(parts: &MatrixParts<'_>) -> Result<NodeMatrix, Error> {
    check_nodes("cpu_nodes", parts.cpu_nodes)?;
    check_nodes("memory_nodes", parts.memory_nodes)?;
    let size = (parts.cpu_nodes.len(), parts.memory_nodes.len());
    check_size(parts.field, parts.values, size)?;
    for rows in [parts.lows, parts.highs].into_iter().flatten() {
        check_size(parts.field, rows, size)?;
    }
    let (rows, columns) = (parts.cpu_nodes.to_vec(), parts.memory_nodes.to_vec());
    let mut matrix = NodeMatrix::empty(rows, columns);
    for (row, values) in parts.values.iter().enumerate() {
        for (column, value) in values.iter().copied().enumerate() {
            if value.is_some_and(|value| !value.is_finite() || value <= 0.0) {
                let (from, to) = (parts.cpu_nodes[row], parts.memory_nodes[column]);
                let value = value.unwrap_or_default();
                return Err(Error::Figures {
                    field: parts.field,
                    expected: "figures above 0, or null".to_owned(),
                    found: format!("{value} from node {from} to node {to}"),
                });
            }
            let end = |rows: Option<&Rows<f64>>| rows.and_then(|rows| rows[row][column]);
            *matrix.cell_mut(row, column) = MatrixCell {
                value,
                low: end(parts.lows),
                high: end(parts.highs),
                confidence: parts.confidence,
                values: u32::from(value.is_some()),
                ..MatrixCell::default()
            };
        }
    }
    mark(&mut matrix, parts);
    Ok(matrix)
}

/// Adds the reasons and marks of single cells.
fn mark(matrix: &mut NodeMatrix, parts: &MatrixParts<'_>) {
    for cell in parts.not_measured {
        if let Some((row, column)) = matrix.place(cell.cpu_node, cell.memory_node) {
            matrix
                .cell_mut(row, column)
                .absent_because
                .clone_from(&cell.reason);
        }
    }
    for cell in parts.unsteady {
        if let Some((row, column)) = matrix.place(cell.cpu_node, cell.memory_node) {
            matrix.cell_mut(row, column).is_unsteady = true;
        }
    }
}

fn check_nodes(field: &'static str, nodes: &[NodeId]) -> Result<(), Error> {
    let wrong = |expected: String, found: String| {
        Err(Error::Figures {
            field,
            expected,
            found,
        })
    };
    if nodes.len() > NODES_MAX {
        return wrong(
            format!("at most {NODES_MAX} nodes"),
            nodes.len().to_string(),
        );
    }
    if let Some(node) = nodes.iter().find(|node| node.0 > ID_MAX) {
        return wrong(format!("ids of nodes up to {ID_MAX}"), node.to_string());
    }
    let mut sorted = nodes.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => wrong(
            "each node once".to_owned(),
            format!("node {} twice", pair[0]),
        ),
        None => Ok(()),
    }
}

/// Checks that there is a row for each node, and in each a figure for each node.
pub(crate) fn check_size<T>(
    field: &'static str,
    rows: &Rows<T>,
    (row_count, column_count): (usize, usize),
) -> Result<(), Error> {
    let wrong = rows.iter().find(|row| row.len() != column_count);
    let found = match wrong {
        Some(row) => format!("a row of {}", row.len()),
        None if rows.len() != row_count => counted(rows.len(), "row"),
        None => return Ok(()),
    };
    Err(Error::Figures {
        field,
        expected: format!("{} of {column_count}", counted(row_count, "row")),
        found,
    })
}

#[cfg(test)]
mod tests {
    use super::{MatrixParts, NODES_MAX, Rows, matrix};
    use model::NodeId;

    fn check(cpu_nodes: &[u32], values: &Rows<f64>, expected: &str) {
        let nodes: Vec<NodeId> = cpu_nodes.iter().copied().map(NodeId).collect();
        let parts = MatrixParts {
            field: "ns",
            cpu_nodes: &nodes,
            memory_nodes: &[NodeId(0)],
            values,
            ..empty()
        };
        let error = matrix(&parts).unwrap_err().to_string();
        assert_eq!(error, expected);
    }

    fn empty() -> MatrixParts<'static> {
        const NONE: &Rows<f64> = &Vec::new();
        MatrixParts {
            field: "ns",
            cpu_nodes: &[],
            memory_nodes: &[],
            values: NONE,
            lows: None,
            highs: None,
            confidence: None,
            not_measured: &[],
            unsteady: &[],
        }
    }

    #[test]
    fn what_is_wrong_with_a_matrix_is_named() {
        let rows = vec![vec![Some(-5.0)]];
        check(
            &[3],
            &rows,
            "ns: -5 from node 3 to node 0; expected figures above 0, or null",
        );
        check(&[3], &Vec::new(), "ns: 0 rows; expected 1 row of 1");
        check(&[3], &vec![vec![]], "ns: a row of 0; expected 1 row of 1");
        check(
            &[3, 3],
            &rows,
            "cpu_nodes: node 3 twice; expected each node once",
        );
        let large = "cpu_nodes: 70000; expected ids of nodes up to 65535";
        check(&[70_000], &rows, large);
        let many: Vec<u32> = (0..=NODES_MAX as u32).collect();
        check(&many, &rows, "cpu_nodes: 1025; expected at most 1024 nodes");
    }

    #[test]
    fn no_nodes_are_an_empty_matrix() {
        assert!(matrix(&empty()).unwrap().nodes().is_empty());
    }
}
