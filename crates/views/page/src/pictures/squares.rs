//! Memory as squares of equal size, coloured by node.

use std::collections::BTreeMap;

use maud::{Markup, html};
use model::{ByteSize, BytesByNode, NodeId, counted};

use super::colours::category;
use super::picture::{Label, Picture, px};

/// The least memory that one square stands for.
const SQUARE_BYTES: u128 = 2 << 20;
/// Maximum number of squares of one piece of memory.
const SQUARES_MAX: u128 = 4096;
/// Squares in one row of a picture as wide as a page, and of one of two side by side.
pub(crate) const COLUMNS: usize = 128;
pub(crate) const COLUMNS_OF_TWO: usize = 56;
/// Side of a square with its gap.
const SIDE: f64 = 7.0;
/// Maximum number of nodes with a colour.
pub(crate) const NODES_MAX: usize = 64;
/// Maximum number of pieces in one strip's memory, and of strips in a picture.
pub(crate) const STRIPS_MAX: usize = 96;
/// Characters of the names of nodes beside one row.
const NAMES_MAX: usize = 30;
const FONT: f64 = 12.0;

/// Where memory lies; `None`: the node is unknown.
pub(crate) type Pieces = Vec<(Option<NodeId>, u64)>;

/// Memory in one row of squares after another.
#[derive(Debug, Clone)]
pub(crate) struct Strip {
    /// What it is.
    pub(crate) name: String,
    pub(crate) pieces: Pieces,
}

/// The colours of nodes, by their place among all nodes of the page.
#[derive(Debug, Clone)]
pub(crate) struct NodeColours {
    nodes: Vec<NodeId>,
}

impl NodeColours {
    pub(crate) fn of(nodes: impl Iterator<Item = NodeId>) -> Self {
        let mut nodes: Vec<NodeId> = nodes.collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes.truncate(NODES_MAX);
        NodeColours { nodes }
    }

    /// The colour of a node; `None` for the unknown one and for nodes beyond the maximum.
    pub(crate) fn of_node(&self, node: Option<NodeId>) -> Option<String> {
        let index = self.nodes.binary_search(&node?).ok()?;
        Some(category(index))
    }
}

/// Returns the bytes of nodes as pieces, in order of node, then the bytes without a node.
pub(crate) fn pieces(by_node: &BytesByNode, bytes_without_node: u64) -> Pieces {
    let known = by_node.iter().map(|(node, bytes)| (Some(*node), *bytes));
    let all = known.chain([(None, bytes_without_node)]);
    all.filter(|(_, bytes)| *bytes > 0).collect()
}

/// The memory that one square stands for, so that no strip has too many: 2 MiB, or that doubled.
pub(crate) fn square_bytes<'s>(strips: impl Iterator<Item = &'s Strip>) -> u128 {
    let sizes = strips.map(|strip| {
        strip
            .pieces
            .iter()
            .map(|(_, bytes)| u128::from(*bytes))
            .sum()
    });
    let largest: u128 = sizes.max().unwrap_or(0);
    let mut square = SQUARE_BYTES;
    while largest.div_ceil(square) > SQUARES_MAX {
        square *= 2;
    }
    square
}

/// Formats the memory of one square.
pub(crate) fn square_words(square: u128) -> String {
    ByteSize(u64::try_from(square).unwrap_or(u64::MAX)).to_string()
}

/// The number of squares of each piece: as many as its bytes fill, rounded, and at least one.
fn counts(pieces: &Pieces, square: u128) -> Vec<usize> {
    let pieces = pieces.iter().take(NODES_MAX + 1);
    pieces
        .map(|(_, bytes)| {
            let rounded = (u128::from(*bytes) + square / 2) / square;
            rounded.clamp(1, SQUARES_MAX) as usize
        })
        .collect()
}

/// How strips are drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drawing<'c> {
    /// The memory of one square, bytes.
    pub(crate) square: u128,
    /// Squares in one row.
    pub(crate) columns: usize,
    pub(crate) colours: &'c NodeColours,
    /// A word for its patterns, unique on the page.
    pub(crate) id: &'static str,
}

/// Draws strips one below the other.
pub(crate) fn draw(strips: &[Strip], drawing: Drawing<'_>) -> Picture {
    let id = drawing.id;
    let mut picture = Picture::default();
    picture.shape(&html! {
        defs {
            pattern id=(format!("hatch-{id}")) width="5" height="5" patternUnits="userSpaceOnUse"
                patternTransform="rotate(45)" { path d="M0 0V5" class="hatch" {} }
        }
    });
    let mut top = 0.0;
    for strip in strips.iter().take(STRIPS_MAX) {
        top = draw_strip(&mut picture, strip, drawing, top);
    }
    picture
}

/// Draws one strip and returns where the next begins.
fn draw_strip(picture: &mut Picture, strip: &Strip, drawing: Drawing<'_>, top: f64) -> f64 {
    let Drawing {
        square,
        columns,
        colours,
        id,
    } = drawing;
    picture.label(Label::new(0.0, top + FONT, FONT, &strip.name));
    let top = top + FONT + 6.0;
    let mut start = 0;
    // The names of the nodes whose squares begin in a row.
    let mut names: Vec<(usize, String)> = Vec::new();
    for ((node, bytes), count) in strip.pieces.iter().zip(counts(&strip.pieces, square)) {
        let fill = colours.of_node(*node);
        let fill = fill.unwrap_or_else(|| format!("url(#hatch-{id})"));
        let id = node.map_or_else(|| "unknown".to_owned(), |node| node.to_string());
        let name = if node.is_some() {
            format!("node {id}")
        } else {
            id.clone()
        };
        let size = ByteSize(*bytes);
        picture.shape(&html! {
            path d=(runs(start, count, columns, top)) fill=(fill) {
                title { (&name) ": " (size) }
            }
        });
        let row = start / columns;
        match names.last_mut() {
            Some((last, names)) if *last == row => names.push_str(&format!(", {id}")),
            _ => names.push((row, name)),
        }
        start += count;
    }
    let rows = start.div_ceil(columns);
    // Names stand beside their squares, also where these do not fill a row.
    let columns = columns.min(start);
    let names_end = draw_names(picture, &names, columns, top);
    let height = rows as f64 * SIDE;
    picture.shape(&grid(rows, columns, top));
    picture.reach(columns as f64 * SIDE, top + height);
    (top + height).max(names_end) + 12.0
}

/// Writes the names of nodes right of their squares, and returns where they end.
fn draw_names(picture: &mut Picture, names: &[(usize, String)], columns: usize, top: f64) -> f64 {
    let mut free_from = top;
    for (row, name) in names {
        let row = top + *row as f64 * SIDE;
        let y = row.max(free_from);
        // A name far below its squares would be that of others.
        if y - row < 3.0 * SIDE {
            let mut text: String = name.chars().take(NAMES_MAX).collect();
            if text.len() < name.len() {
                text.push('…');
            }
            let label = Label::new(columns as f64 * SIDE + 6.0, y + 8.0, FONT, text);
            picture.label(label.muted());
            free_from = y + FONT + 1.0;
        }
    }
    free_from
}

/// The outline of `count` squares from the `start`-th on, row by row.
fn runs(start: usize, count: usize, columns: usize, top: f64) -> String {
    let mut path = String::new();
    let (mut at, end) = (start, start + count);
    while at < end {
        let column = at % columns;
        let length = (columns - column).min(end - at);
        let (x, y) = (column as f64 * SIDE, top + (at / columns) as f64 * SIDE);
        let width = length as f64 * SIDE;
        let step = format!("M{} {}h{}v{SIDE}h-{}z", px(x), px(y), px(width), px(width));
        path.push_str(&step);
        at += length;
    }
    path
}

/// The gaps between squares.
fn grid(rows: usize, columns: usize, top: f64) -> Markup {
    let (width, height) = (columns as f64 * SIDE, rows as f64 * SIDE);
    let mut path = String::new();
    for column in 0..=columns {
        let x = column as f64 * SIDE;
        path.push_str(&format!("M{} {}v{}", px(x), px(top), px(height)));
    }
    for row in 0..=rows {
        let y = top + row as f64 * SIDE;
        path.push_str(&format!("M0 {}h{}", px(y), px(width)));
    }
    html! { path d=(path) class="gap" {} }
}

/// The colours with the bytes of each node over all strips.
pub(crate) fn key(strips: &[Strip], colours: &NodeColours) -> Markup {
    let mut bytes_by_node: BTreeMap<Option<NodeId>, u64> = BTreeMap::new();
    for (node, bytes) in strips.iter().flat_map(|strip| &strip.pieces) {
        let sum = bytes_by_node.entry(*node).or_default();
        *sum = sum.saturating_add(*bytes);
    }
    let unknown = bytes_by_node.remove(&None);
    let shown = bytes_by_node.iter().take(NODES_MAX);
    let left_out = bytes_by_node.len().saturating_sub(NODES_MAX);
    html! {
        ul.key {
            @for (node, bytes) in shown {
                @if let (Some(node), Some(colour)) = (node, colours.of_node(*node)) {
                    li {
                        i style=(format!("background:{colour}")) {}
                        "node " (node) ": " (ByteSize(*bytes))
                    }
                }
            }
            @if let Some(bytes) = unknown {
                li { i.hatched {} "node unknown: " (ByteSize(bytes)) }
            }
            @if left_out > 0 { li { "left out: " (counted(left_out, "more node")) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::picture::tests::check_labels;
    use super::*;

    fn strip(pieces: &[(u32, u64)]) -> Strip {
        Strip {
            name: "a segment".to_owned(),
            pieces: pieces
                .iter()
                .map(|(node, bytes)| (Some(NodeId(*node)), *bytes))
                .collect(),
        }
    }

    #[test]
    fn a_square_is_2_mib_until_there_would_be_too_many() {
        let check = |bytes: u64, expected: u128| {
            assert_eq!(square_bytes([strip(&[(0, bytes)])].iter()), expected);
        };
        check(0, 2 << 20);
        check(8 << 30, 2 << 20);
        check((8 << 30) + 1, 4 << 20);
        check(u64::MAX, 1 << 52);
    }

    #[test]
    fn every_node_has_squares_in_proportion_and_at_least_one() {
        let pieces = strip(&[(0, 20 << 20), (1, 1), (2, 7 << 20)]).pieces;
        assert_eq!(counts(&pieces, 2 << 20), [10, 1, 4]);
    }

    #[test]
    fn names_do_not_overlap_and_nodes_beyond_the_colours_are_hatched() {
        let many: Vec<(u32, u64)> = (0..300).map(|node| (node, 5 << 20)).collect();
        let strips = [strip(&many), strip(&[(0, 1 << 30), (3, 1 << 30)])];
        let colours = NodeColours::of((0..300).map(NodeId));
        let picture = draw(
            &strips,
            Drawing {
                square: square_bytes(strips.iter()),
                columns: COLUMNS,
                colours: &colours,
                id: "test",
            },
        );
        check_labels(&picture);
        assert_eq!(colours.of_node(Some(NodeId(299))), None);
        assert!(
            key(&strips, &colours)
                .0
                .contains("left out: 236 more nodes")
        );
    }

    #[test]
    fn a_run_over_the_end_of_a_row_goes_on_in_the_next() {
        assert_eq!(runs(63, 2, 64, 0.0), "M441 0h7v7h-7zM0 7h7v7h-7z");
    }
}
