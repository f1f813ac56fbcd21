//! Tables with a column for each node: `numastat` and `numastat -m`.

use model::NodeId;

/// The columns of the table that is being read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    /// The nodes, in order.
    pub(crate) nodes: Vec<NodeId>,
    /// Whether the figures are in MB; else they are counts.
    pub(crate) in_mb: bool,
}

/// A row of such a table: its name and a figure for each node.
pub(crate) fn row<'a>(line: &'a str, columns: &Columns) -> Option<(&'a str, Vec<(NodeId, f64)>)> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let is_name = |it: char| it.is_ascii_alphanumeric() || "_()".contains(it);
    // No node has as many bytes or pages: a float is exact below it.
    let is_figure = |it: &f64| (0.0..1e15).contains(it);
    let figure = |word: &str| word.parse().ok().filter(is_figure);
    let figures: Option<Vec<f64>> = words.map(figure).collect();
    let figures = figures?;
    // `numastat -m` ends with the sum of all nodes.
    let is_row = figures.len() == columns.nodes.len() || figures.len() == columns.nodes.len() + 1;
    let is_name = name.chars().all(is_name) && !name.starts_with(|it: char| it.is_ascii_digit());
    let cells = columns.nodes.iter().copied().zip(figures);
    (is_row && is_name).then(|| (name, cells.collect()))
}
