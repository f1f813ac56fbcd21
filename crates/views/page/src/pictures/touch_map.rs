//! First touches of a segment: offset across, time down, coloured by the node of the CPU.

use maud::{Markup, html};
use model::{ByteSize, NodeId, TouchPicture, TouchedSegment};

use super::picture::{Anchor, Label, Picture, px};
use super::squares::{NodeColours, Strip, key};

/// Size of a cell, in pixels.
const CELL_WIDTH: f64 = 6.0;
const CELL_HEIGHT: f64 = 6.0;
/// Room for the labels at the left.
const LEFT: f64 = 64.0;
const TOP: f64 = 4.0;
const FONT: f64 = 12.0;

/// Returns the picture with its key; nothing when no first touch was seen.
pub fn touch_map(segment: &TouchedSegment) -> Markup {
    let Some(grid) = &segment.picture else {
        return html! {};
    };
    let nodes = grid
        .cells
        .iter()
        .flat_map(|cell| cell.bytes_by_cpu_node.keys());
    let colours = NodeColours::of(nodes.copied());
    let all = grid.cells.iter().flat_map(|cell| &cell.bytes_by_cpu_node);
    let strip = Strip {
        name: String::new(),
        pieces: all.map(|(node, bytes)| (Some(*node), *bytes)).collect(),
    };
    html! {
        figure {
            figcaption {
                "First touches by offset (across) and time (down), in the colour of the CPU's "
                "node. Where several nodes share a cell, the one that touched most."
            }
            div.scroll {
                (draw(segment.mapped_bytes, grid, &colours)
                    .markup("First touches by offset and time", true))
            }
            (key(&[strip], &colours))
        }
    }
}

fn draw(mapped_bytes: u64, grid: &TouchPicture, colours: &NodeColours) -> Picture {
    let mut picture = Picture::default();
    let (width, height) = (
        f64::from(grid.columns) * CELL_WIDTH,
        f64::from(grid.rows) * CELL_HEIGHT,
    );
    let inside = |cell: &&model::TouchCell| cell.column < grid.columns && cell.row < grid.rows;
    for cell in grid.cells.iter().filter(inside) {
        let most = cell
            .bytes_by_cpu_node
            .iter()
            .max_by_key(|(_, bytes)| **bytes);
        let Some((node, bytes)) = most else { continue };
        let (x, y) = (
            LEFT + f64::from(cell.column) * CELL_WIDTH,
            TOP + f64::from(cell.row) * CELL_HEIGHT,
        );
        picture.shape(&html! {
            rect x=(px(x)) y=(px(y)) width=(px(CELL_WIDTH)) height=(px(CELL_HEIGHT))
                fill=(colours.of_node(Some(*node)).unwrap_or_default()) {
                title { (words(*node, *bytes)) }
            }
        });
    }
    picture.path(
        &format!(
            "M{} {}h{}v{}h-{}z",
            px(LEFT),
            px(TOP),
            px(width),
            px(height),
            px(width)
        ),
        "frame",
    );
    picture.reach(LEFT + width, TOP + height);
    let times = [(TOP + FONT, grid.first_s), (TOP + height, grid.last_s)];
    for (y, seconds) in times {
        let text = format!("{seconds:.1} s");
        picture.label(Label::new(LEFT - 6.0, y, FONT, text).anchored(Anchor::End));
    }
    let y = TOP + height + FONT + 4.0;
    picture.label(Label::new(LEFT, y, FONT, "0"));
    let end = format!("{:.1}", ByteSize(mapped_bytes));
    picture.label(Label::new(LEFT + width, y, FONT, end).anchored(Anchor::End));
    picture
}

fn words(node: NodeId, bytes: u64) -> String {
    format!("node {node}: {}", ByteSize(bytes))
}

#[cfg(test)]
mod tests {
    use model::TouchCell;

    use super::super::picture::tests::check_labels;
    use super::*;

    #[test]
    fn each_cell_is_drawn_in_its_place_and_none_outside() {
        let cell = |column, row| TouchCell {
            column,
            row,
            bytes_by_cpu_node: [(NodeId(1), 4096)].into(),
        };
        let grid = TouchPicture {
            columns: 128,
            rows: 48,
            first_s: 0.5,
            last_s: 14.2,
            cells: vec![cell(0, 0), cell(127, 47), cell(128, 0), cell(0, u32::MAX)],
        };
        let colours = NodeColours::of([NodeId(1)].into_iter());
        let picture = draw(1 << 30, &grid, &colours);
        check_labels(&picture);
        let text = picture.markup("x", true).0;
        assert_eq!(text.matches("<rect").count(), 2);
        assert!(text.contains("node 1: 4 KiB"), "{text}");
        assert!(
            text.contains("14.2 s") && text.contains("1.0 GiB"),
            "{text}"
        );
    }

    #[test]
    fn without_a_first_touch_there_is_no_picture() {
        assert!(touch_map(&TouchedSegment::default()).0.is_empty());
    }
}
