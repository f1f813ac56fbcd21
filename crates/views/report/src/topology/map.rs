//! How far nodes are from one another, as a heat map: measured latencies, or the firmware's
//! distances.

use std::collections::BTreeSet;

use model::{LatencyResult, NodeId, Topology};

use crate::topology::distances::shown;

const LINE: usize = 18;

/// Maximum number of nodes for which the cells of the heat map hold numbers.
const NUMBERED_NODES_MAX: usize = 32;

/// Colour of the farthest distance. Light to dark is readable with red-green colour blindness.
const FAR: [u32; 3] = [8, 48, 107];

/// Colour of an unknown distance: grey.
const UNKNOWN: [u32; 3] = [204, 204, 204];

/// Latencies above this are no memory's, in ns.
const NS_MAX: f64 = 9999.0;

/// The map.
pub(crate) struct DistanceMap {
    caption: &'static str,
    nodes: Vec<NodeId>,
    rows: Vec<Vec<Option<u32>>>,
}

impl DistanceMap {
    /// The map of a machine; `None` when nothing is known, or there is one node.
    pub(crate) fn of(topology: &Topology, latencies: Option<&LatencyResult>) -> Option<Self> {
        let nodes: Vec<NodeId> = topology.nodes.iter().map(|node| node.id).collect();
        if nodes.len() < 2 {
            return None;
        }
        let rows = latencies.map(|it| measured(it, &nodes));
        let rows = rows.filter(|rows| rows.iter().flatten().any(Option::is_some));
        let (caption, rows) = match rows {
            Some(rows) => (
                "measured latency in ns, from the CPUs of the row to the memory of the column",
                rows,
            ),
            None => (
                "the firmware's distances, from row to column; 10 is local",
                topology.distances.clone()?,
            ),
        };
        Some(Self {
            caption,
            nodes,
            rows,
        })
    }

    fn cell(&self) -> usize {
        match self.has_numbers() {
            true => 34,
            false => 8,
        }
    }

    fn has_numbers(&self) -> bool {
        self.nodes.len() <= NUMBERED_NODES_MAX
    }

    /// Width and height, with its headings.
    pub(crate) fn side(&self) -> usize {
        (self.nodes.len() + 1) * self.cell()
    }

    /// Adds it to a picture.
    pub(crate) fn push(&self, svg: &mut String, left: usize, top: usize) {
        let classes: BTreeSet<u32> = self.rows.iter().flatten().flatten().copied().collect();
        let classes: Vec<u32> = classes.into_iter().collect();
        push_text(svg, left, top + 4, "fill=\"#44546a\"", self.caption);
        let (top, side) = (top + LINE, self.cell());
        let named = self.nodes.iter().enumerate();
        for (index, node) in named.filter(|_| self.has_numbers()) {
            let (along, across) = (side * (index + 1) + side / 2, side / 2 + 5);
            let name = node.to_string();
            push_centred(svg, left + along, top + across, "#000000", &name);
            push_centred(svg, left + side / 2, top + along + 5, "#000000", &name);
        }
        for (row, distances) in self.rows.iter().enumerate() {
            for (column, distance) in distances.iter().enumerate() {
                let (x, y) = (left + side * (column + 1), top + side * (row + 1));
                let rank = distance.and_then(|distance| classes.binary_search(&distance).ok());
                let [red, green, blue] = rank.map_or(UNKNOWN, |rank| shade(rank, classes.len()));
                svg.push_str(&format!(
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\" \
                     fill=\"#{red:02x}{green:02x}{blue:02x}\" stroke=\"#ffffff\"/>\n"
                ));
                if self.has_numbers() {
                    let ink = match rank.is_some_and(|rank| 2 * rank >= classes.len()) {
                        true => "#ffffff",
                        false => "#000000",
                    };
                    let text = shown(*distance, "?");
                    push_centred(svg, x + side / 2, y + side / 2 + 5, ink, &text);
                }
            }
        }
    }
}

/// Latencies between these nodes, in whole ns.
fn measured(latencies: &LatencyResult, nodes: &[NodeId]) -> Vec<Vec<Option<u32>>> {
    let ns = |from: &NodeId, to: &NodeId| {
        let value = latencies.matrix.value(*from, *to)?;
        (0.0..=NS_MAX)
            .contains(&value)
            .then(|| value.round() as u32)
    };
    let row = |from: &NodeId| nodes.iter().map(|to| ns(from, to)).collect();
    nodes.iter().map(row).collect()
}

/// Returns the colour of the `rank`-th nearest of `classes` distances.
fn shade(rank: usize, classes: usize) -> [u32; 3] {
    let last = classes.saturating_sub(1).max(1) as u32;
    let rank = rank as u32;
    FAR.map(|dark| (235 * (last - rank) + dark * rank) / last)
}

/// Adds a text; `style` are more attributes.
pub(crate) fn push_text(svg: &mut String, x: usize, y: usize, style: &str, text: &str) {
    let space = if style.is_empty() { "" } else { " " };
    let text = escaped(text);
    svg.push_str(&format!(
        "<text x=\"{x}\" y=\"{y}\"{space}{style}>{text}</text>\n"
    ));
}

/// Adds a text centred at a point.
pub(crate) fn push_centred(svg: &mut String, x: usize, y: usize, ink: &str, text: &str) {
    let style = format!("text-anchor=\"middle\" fill=\"{ink}\"");
    push_text(svg, x, y, &style, text);
}

/// Escapes text between tags (XML 1.0, 2.4).
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use model::{MatrixCell, Node, NodeMatrix};

    use super::*;

    fn topology() -> Topology {
        let node = |id| Node {
            id: NodeId(id),
            ..Node::default()
        };
        Topology {
            nodes: vec![node(0), node(3)],
            distances: Some(vec![vec![Some(10), Some(21)], vec![Some(21), Some(10)]]),
            ..Topology::default()
        }
    }

    fn latencies(nodes: &[u32], ns: &[&[f64]]) -> LatencyResult {
        let nodes: Vec<NodeId> = nodes.iter().map(|id| NodeId(*id)).collect();
        let mut matrix = NodeMatrix::empty(nodes.clone(), nodes);
        for (row, values) in ns.iter().enumerate() {
            for (column, value) in values.iter().enumerate() {
                *matrix.cell_mut(row, column) = MatrixCell::of(*value);
            }
        }
        LatencyResult {
            matrix,
            ..LatencyResult::default()
        }
    }

    #[test]
    fn measured_latencies_take_the_place_of_distances_where_there_are_any() {
        let map = |latencies| DistanceMap::of(&topology(), latencies).unwrap();
        let of_this = latencies(&[0, 3], &[&[84.4, 140.6], &[f64::NAN, 1e300]]);
        let measured = map(Some(&of_this));
        assert!(measured.caption.starts_with("measured latency in ns"));
        assert_eq!(measured.rows, [[Some(84), Some(141)], [None, None]]);
        let of_another = latencies(&[1, 2], &[&[84.0, 140.0], &[140.0, 84.0]]);
        for other in [None, Some(&of_another)] {
            let map = map(other);
            assert!(map.caption.starts_with("the firmware's distances"));
            assert_eq!(map.rows[0], [Some(10), Some(21)]);
        }
    }
}
