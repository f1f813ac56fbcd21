//! A matrix of nodes as a grid of figures, in as many blocks of columns as the width requires.

use model::{NodeId, NodeMatrix};

use crate::run_style::{Style, TextOptions};

/// Spaces between two columns.
const GAP: usize = 2;

/// The content of one cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GridCell {
    pub(crate) text: String,
    pub(crate) style: Style,
}

/// Formats the matrix with its nodes as headings; `cell` provides the content.
pub(crate) fn grid(
    matrix: &NodeMatrix,
    cell: impl Fn(NodeId, NodeId) -> GridCell,
    options: &TextOptions,
) -> String {
    let (rows, columns) = (matrix.cpu_nodes(), matrix.memory_nodes());
    let row_of = |from: &NodeId| columns.iter().map(|to| cell(*from, *to)).collect();
    let cells: Vec<Vec<GridCell>> = rows.iter().map(row_of).collect();
    let length = |text: &str| text.chars().count();
    let of_cells = cells.iter().flatten().map(|cell| length(&cell.text));
    let of_headings = columns.iter().map(|node| length(&node.to_string()));
    let width = of_cells.chain(of_headings).max().unwrap_or(1) + GAP;
    let of_rows = rows.iter().map(|node| length(&node.to_string()));
    let heading = of_rows.max().unwrap_or(1) + GAP;
    let in_block = (options.columns().saturating_sub(heading) / width).max(1);
    let mut text = String::new();
    for first in (0..columns.len()).step_by(in_block) {
        if first > 0 {
            text.push('\n');
        }
        let block = first..columns.len().min(first + in_block);
        let titles = columns[block.clone()].iter();
        let titles: String = titles
            .map(|node| format!("{:>width$}", node.to_string()))
            .collect();
        text.push_str(&format!("{:heading$}{titles}\n", ""));
        for (node, row) in rows.iter().zip(&cells) {
            text.push_str(&format!("{:>heading$}", node.to_string()));
            for cell in &row[block.clone()] {
                let pad = width.saturating_sub(length(&cell.text));
                text.push_str(&" ".repeat(pad));
                text.push_str(&options.paint(&cell.text, cell.style));
            }
            text.push('\n');
        }
    }
    text
}
