//! A measured figure for every pair of a node with CPUs and a node with memory.

use serde::{Deserialize, Serialize};

use crate::{NodeId, NodeSet, Topology};

/// Nodes in an order of their own; the place of each is found in logarithmic time, so that whoever
/// asks for every cell of a matrix takes a time that is linear in its cells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Axis {
    nodes: Vec<NodeId>,
    /// The nodes with their places, sorted: the first place of a node that occurs twice is first.
    by_id: Vec<(NodeId, usize)>,
}

impl Axis {
    fn new(nodes: Vec<NodeId>) -> Self {
        let mut by_id: Vec<(NodeId, usize)> = nodes.iter().copied().zip(0..).collect();
        by_id.sort_unstable();
        Axis { nodes, by_id }
    }

    /// The first place of a node.
    fn place(&self, node: NodeId) -> Option<usize> {
        // Ids mostly follow one another.
        let (first, _) = self.by_id.first()?;
        let guess = node.0.checked_sub(first.0)? as usize;
        let is_at = |index: usize| self.by_id.get(index).is_some_and(|(id, _)| *id == node);
        if is_at(guess) && (guess == 0 || !is_at(guess - 1)) {
            return Some(self.by_id[guess].1);
        }
        let before = self.by_id.partition_point(|(id, _)| *id < node);
        let (id, place) = self.by_id.get(before)?;
        (*id == node).then_some(*place)
    }
}

/// A figure for every pair of a node with CPUs (row) and a node with memory (column). Its owner
/// defines the unit: ns for latency, bytes per second for bandwidth.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeMatrix {
    cpu_nodes: Axis,
    memory_nodes: Axis,
    /// One row for each of `cpu_nodes`, one cell in it for each of `memory_nodes`.
    cells: Vec<Vec<MatrixCell>>,
}

/// One cell of a [`NodeMatrix`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MatrixCell {
    /// The median; `None` where nothing was measured.
    pub value: Option<f64>,
    /// Lower end of the interval for the median; `None` where too few values were measured.
    pub low: Option<f64>,
    /// Upper end of it.
    pub high: Option<f64>,
    /// The lower bound of the interval's coverage; `None` where unknown.
    pub confidence: Option<f64>,
    /// Number of values behind the median.
    pub values: u32,
    /// Whether its values vary so much that the figure is doubtful.
    pub is_unsteady: bool,
    /// Why it was not measured.
    pub absent_because: Option<String>,
}

impl MatrixCell {
    /// A figure without an interval.
    pub fn of(value: f64) -> Self {
        MatrixCell {
            value: Some(value),
            values: 1,
            ..MatrixCell::default()
        }
    }

    /// An absent figure, with the reason.
    pub fn absent(reason: impl Into<String>) -> Self {
        MatrixCell {
            absent_because: Some(reason.into()),
            ..MatrixCell::default()
        }
    }
}

impl NodeMatrix {
    /// A matrix without measured figures.
    pub fn empty(cpu_nodes: Vec<NodeId>, memory_nodes: Vec<NodeId>) -> Self {
        let cells = vec![vec![MatrixCell::default(); memory_nodes.len()]; cpu_nodes.len()];
        NodeMatrix {
            cpu_nodes: Axis::new(cpu_nodes),
            memory_nodes: Axis::new(memory_nodes),
            cells,
        }
    }

    /// The matrix of these cells; `None` unless there is a row for each of `cpu_nodes`, and in each
    /// row a cell for each of `memory_nodes`.
    pub fn new(
        cpu_nodes: Vec<NodeId>,
        memory_nodes: Vec<NodeId>,
        cells: Vec<Vec<MatrixCell>>,
    ) -> Option<Self> {
        let fits = |row: &Vec<MatrixCell>| row.len() == memory_nodes.len();
        if cells.len() != cpu_nodes.len() || !cells.iter().all(fits) {
            return None;
        }
        Some(NodeMatrix {
            cpu_nodes: Axis::new(cpu_nodes),
            memory_nodes: Axis::new(memory_nodes),
            cells,
        })
    }

    /// The nodes of the rows, in their order.
    pub fn cpu_nodes(&self) -> &[NodeId] {
        &self.cpu_nodes.nodes
    }

    /// The nodes of the columns, in their order.
    pub fn memory_nodes(&self) -> &[NodeId] {
        &self.memory_nodes.nodes
    }

    /// Every node that has a row or a column.
    pub fn nodes(&self) -> NodeSet {
        let nodes = self.cpu_nodes().iter().chain(self.memory_nodes());
        nodes.copied().collect()
    }

    /// The rows with their nodes.
    pub fn rows(&self) -> impl Iterator<Item = (NodeId, &[MatrixCell])> {
        let nodes = self.cpu_nodes().iter().copied();
        nodes.zip(self.cells.iter().map(Vec::as_slice))
    }

    /// The cell in this row and column, counted from 0.
    ///
    /// # Panics
    /// When there is no such row or column.
    pub fn cell_mut(&mut self, row: usize, column: usize) -> &mut MatrixCell {
        &mut self.cells[row][column]
    }

    /// The cell from one node to another, in the first row and column with these ids.
    pub fn cell(&self, cpu_node: NodeId, memory_node: NodeId) -> Option<&MatrixCell> {
        let (row, column) = self.place(cpu_node, memory_node)?;
        self.cells[row].get(column)
    }

    /// The row and the column of that cell, counted from 0.
    pub fn place(&self, cpu_node: NodeId, memory_node: NodeId) -> Option<(usize, usize)> {
        let row = self.cpu_nodes.place(cpu_node)?;
        Some((row, self.memory_nodes.place(memory_node)?))
    }

    /// The figure from one node to another, if one was measured.
    pub fn value(&self, cpu_node: NodeId, memory_node: NodeId) -> Option<f64> {
        self.cell(cpu_node, memory_node)?.value
    }
}

/// The firmware's distances between nodes, 10 for local. Impossible values are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DistanceTable {
    from: Axis,
    to: Axis,
    /// One row for each of `from`, one distance in it for each of `to`.
    rows: Vec<Vec<Option<u32>>>,
}

impl DistanceTable {
    /// The table of these rows, from every one of `nodes` to every one of them; `None` unless there
    /// is a row for each node, and in each row a distance for each node.
    pub fn new(nodes: Vec<NodeId>, rows: Vec<Vec<u32>>) -> Option<Self> {
        let rows = rows.into_iter();
        let rows = rows.map(|row| row.into_iter().map(Some).collect());
        Self::of_parts(nodes.clone(), nodes, rows.collect())
    }

    /// The table of these rows, in which some distances may be unknown; `None` unless there is a
    /// row for each of `from`, and in each row a place for each of `to`.
    pub fn of_parts(
        from: Vec<NodeId>,
        to: Vec<NodeId>,
        rows: Vec<Vec<Option<u32>>>,
    ) -> Option<Self> {
        let fits = |row: &Vec<Option<u32>>| row.len() == to.len();
        if rows.len() != from.len() || !rows.iter().all(fits) {
            return None;
        }
        Some(DistanceTable {
            from: Axis::new(from),
            to: Axis::new(to),
            rows,
        })
    }

    /// The distances of a machine from its nodes with CPUs, as far as its kernel reports them.
    pub fn of(topology: &Topology) -> Option<Self> {
        Some(Self::of_all(topology)?.from_nodes(&topology.cpu_nodes()))
    }

    /// The same from all of its nodes: what the firmware says where no CPU can measure.
    pub fn of_all(topology: &Topology) -> Option<Self> {
        let nodes: Vec<NodeId> = topology.nodes.iter().map(|node| node.id).collect();
        Self::of_parts(nodes.clone(), nodes, topology.distances.clone()?)
    }

    /// The distances from these nodes only. Distances from a node without CPUs are meaningless: no
    /// CPU accesses memory from there, and firmware fills its row with 255.
    pub fn from_nodes(self, nodes: &NodeSet) -> Self {
        let rows = self.from.nodes.into_iter().zip(self.rows);
        let (from, rows) = rows.filter(|(node, _)| nodes.contains(*node)).unzip();
        DistanceTable {
            from: Axis::new(from),
            to: self.to,
            rows,
        }
    }

    /// Every node with a row or a column.
    pub fn nodes(&self) -> NodeSet {
        let nodes = self.from.nodes.iter().chain(&self.to.nodes);
        nodes.copied().collect()
    }

    /// Every known distance with its two nodes, from and to.
    pub fn cells(&self) -> impl Iterator<Item = (NodeId, NodeId, u32)> {
        let rows = self.from.nodes.iter().zip(&self.rows);
        rows.flat_map(|(from, row)| {
            let cells = self.to.nodes.iter().zip(row);
            cells.filter_map(|(to, distance)| Some((*from, *to, (*distance)?)))
        })
    }

    /// The distance from one node to another.
    pub fn distance(&self, from: NodeId, to: NodeId) -> Option<u32> {
        self.rows[self.from.place(from)?][self.to.place(to)?]
    }
}

#[cfg(test)]
mod tests {
    use super::{DistanceTable, MatrixCell, NodeMatrix};
    use crate::NodeId;

    fn nodes(ids: &[u32]) -> Vec<NodeId> {
        ids.iter().copied().map(NodeId).collect()
    }

    #[test]
    fn cells_are_found_by_the_ids_of_their_nodes() {
        let mut matrix = NodeMatrix::empty(nodes(&[0, 8]), nodes(&[0, 8, 9]));
        *matrix.cell_mut(1, 2) = MatrixCell::of(200.0);
        assert_eq!(matrix.value(NodeId(8), NodeId(9)), Some(200.0));
        assert_eq!(matrix.value(NodeId(0), NodeId(9)), None);
        assert_eq!(matrix.cell(NodeId(9), NodeId(0)), None);
        assert_eq!(matrix.rows().count(), 2);
    }

    #[test]
    fn of_a_node_that_occurs_twice_the_first_place_counts() {
        let rows = vec![vec![
            MatrixCell::of(1.0),
            MatrixCell::of(2.0),
            MatrixCell::of(3.0),
        ]];
        let matrix = NodeMatrix::new(nodes(&[5]), nodes(&[9, 3, 9]), rows).unwrap();
        assert_eq!(matrix.value(NodeId(5), NodeId(9)), Some(1.0));
        assert_eq!(matrix.value(NodeId(5), NodeId(3)), Some(2.0));
        assert_eq!(matrix.memory_nodes(), nodes(&[9, 3, 9]));
    }

    #[test]
    fn rows_that_do_not_fit_are_no_matrix() {
        let row = || vec![MatrixCell::of(1.0)];
        assert!(NodeMatrix::new(nodes(&[0]), nodes(&[0]), vec![row()]).is_some());
        assert!(NodeMatrix::new(nodes(&[0]), nodes(&[0, 1]), vec![row()]).is_none());
        assert!(NodeMatrix::new(nodes(&[0]), nodes(&[0]), vec![]).is_none());
        assert!(NodeMatrix::new(vec![], vec![], vec![]).is_some());
        assert!(DistanceTable::new(nodes(&[0, 1]), vec![vec![10, 20]]).is_none());
        let table = DistanceTable::new(nodes(&[0, 1]), vec![vec![10, 20], vec![21, 10]]);
        assert_eq!(table.unwrap().distance(NodeId(1), NodeId(0)), Some(21));
        let part = DistanceTable::of_parts(nodes(&[4]), nodes(&[4, 5]), vec![vec![Some(10), None]]);
        let part = part.unwrap();
        let cells: Vec<(NodeId, NodeId, u32)> = part.cells().collect();
        assert_eq!(cells, [(NodeId(4), NodeId(4), 10)]);
        assert_eq!(part.distance(NodeId(5), NodeId(4)), None);
    }
}
