//! First touches as text: time down, offset across, a letter for the node of the CPU.

use std::collections::{BTreeMap, BTreeSet};

use model::{ByteSize, NodeId, TouchPicture, TouchedSegment};

/// Cells of the grid that are one character wide and high.
const ACROSS: u32 = 2;
const DOWN: u32 = 4;

/// Nodes with a letter or digit of their own.
const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// The letter of a node: that of its rank where ids are higher than there are letters.
fn letter(node: NodeId, nodes: &BTreeSet<NodeId>) -> char {
    let is_high = nodes.iter().any(|node| node.0 as usize >= LETTERS.len());
    let index = match is_high {
        true => nodes.iter().position(|other| *other == node),
        false => Some(node.0 as usize),
    };
    let letter = index.and_then(|index| LETTERS.get(index));
    letter.map_or('#', |letter| char::from(*letter))
}

/// Returns the lines of the picture; none when nothing was touched.
pub(crate) fn lines(segment: &TouchedSegment) -> Vec<String> {
    let Some(picture) = &segment.picture else {
        return Vec::new();
    };
    let mut cells: BTreeMap<(u32, u32), BTreeMap<NodeId, u64>> = BTreeMap::new();
    let mut nodes = BTreeSet::new();
    for cell in &picture.cells {
        let of_character = cells.entry((cell.row / DOWN, cell.column / ACROSS));
        let of_character = of_character.or_default();
        for (node, bytes) in &cell.bytes_by_cpu_node {
            nodes.insert(*node);
            *of_character.entry(*node).or_default() += bytes;
        }
    }
    let columns = picture.columns.div_ceil(ACROSS);
    let rows = picture.rows.div_ceil(DOWN);
    let mut lines = Vec::new();
    for row in 0..rows {
        let character = |column: u32| {
            let most = cells
                .get(&(row, column))?
                .iter()
                .max_by_key(|(_, it)| **it)?;
            Some(letter(*most.0, &nodes))
        };
        let line: String = (0..columns)
            .map(|it| character(it).unwrap_or('.'))
            .collect();
        lines.push(format!("{:>8} |{line}|", time(picture, row, rows)));
    }
    let end = format!("{:.1}", ByteSize(segment.mapped_bytes));
    let room = (columns as usize).saturating_sub(1);
    lines.push(format!("{:>8}  0{end:>room$}", "offset"));
    lines.extend(legend(&nodes));
    lines
}

/// The time at which a row begins; only the first and last are labelled.
fn time(picture: &TouchPicture, row: u32, rows: u32) -> String {
    match row {
        0 => format!("{:.1} s", picture.first_s),
        row if row + 1 == rows => format!("{:.1} s", picture.last_s),
        _ => String::new(),
    }
}

/// Which letter is which node, unless each is the node's own number.
fn legend(nodes: &BTreeSet<NodeId>) -> Option<String> {
    let letters = nodes.iter().map(|node| (letter(*node, nodes), node));
    let other: Vec<String> = letters
        .filter(|(letter, node)| node.to_string() != letter.to_string())
        .map(|(letter, node)| format!("{letter}: node {node}"))
        .collect();
    (!other.is_empty()).then(|| other.join(", "))
}
