//! First touches of a segment: offset across, time down, coloured by the node of the CPU.

use maud::{Markup, html};
use model::{ByteSize, NodeId, TouchCell, TouchPicture, TouchedSegment};
use report::Table;

use super::picture::{Anchor, Label, Picture, percent, px};
use super::squares::{NodeColours, Strip, key};
use crate::documents::table;

/// Height of a cell, in pixels; the picture is as wide as its page.
const CELL_HEIGHT: f64 = 6.0;
/// Where the cells begin, below the offsets.
const TOP: f64 = 20.0;
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
    let runs = runs(segment.mapped_bytes, grid);
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
            (draw(segment.mapped_bytes, grid, &runs, &colours)
                .markup("First touches by offset and time", false))
            (key(&[strip], &colours))
            (figures(&runs))
        }
    }
}

/// Cells of one row that stand side by side and have one node.
struct Run {
    row: u32,
    /// The first column, and the one after the last.
    columns: [u32; 2],
    node: NodeId,
    /// Bytes that this node touched first.
    bytes: u64,
    /// When its row begins and ends, and where its columns do.
    seconds: [f64; 2],
    offsets: [u64; 2],
}

impl Run {
    fn times(&self) -> String {
        let [from, to] = self.seconds;
        format!("{from:.2} to {to:.2}")
    }

    fn places(&self) -> String {
        let [from, to] = self
            .offsets
            .map(|offset| format!("{:.1}", ByteSize(offset)));
        format!("{from} to {to}")
    }

    /// All that is known of it, shown on hover.
    fn title(&self) -> String {
        let (node, bytes) = (self.node, ByteSize(self.bytes));
        let (times, places) = (self.times(), self.places());
        format!("node {node}: {bytes}, {times} s, offset {places}")
    }
}

/// The runs of a grid, row by row; cells outside of it are left out.
fn runs(mapped_bytes: u64, grid: &TouchPicture) -> Vec<Run> {
    let offset = |column: u32| {
        let share = f64::from(column) / f64::from(grid.columns);
        // `as` saturates, so that no offset is too large.
        (mapped_bytes as f64 * share) as u64
    };
    let time = |row: u32| {
        grid.first_s + (grid.last_s - grid.first_s) * f64::from(row) / f64::from(grid.rows)
    };
    let inside = |cell: &&TouchCell| cell.column < grid.columns && cell.row < grid.rows;
    let mut runs: Vec<Run> = Vec::new();
    for cell in grid.cells.iter().filter(inside) {
        let by_node = cell.bytes_by_cpu_node.iter();
        let Some((node, bytes)) = by_node.max_by_key(|(_, bytes)| **bytes) else {
            continue;
        };
        let end = cell.column + 1;
        match runs.last_mut() {
            Some(run) if (run.row, run.columns[1], run.node) == (cell.row, cell.column, *node) => {
                run.columns[1] = end;
                run.offsets[1] = offset(end);
                run.bytes = run.bytes.saturating_add(*bytes);
            }
            _ => runs.push(Run {
                row: cell.row,
                columns: [cell.column, end],
                node: *node,
                bytes: *bytes,
                seconds: [time(cell.row), time(cell.row + 1)],
                offsets: [offset(cell.column), offset(end)],
            }),
        }
    }
    runs
}

/// The same figures as a table.
fn figures(runs: &[Run]) -> Markup {
    let rows = runs.iter().map(|run| {
        let (node, bytes) = (run.node.to_string(), ByteSize(run.bytes).to_string());
        vec![run.times(), run.places(), node, bytes]
    });
    let titles = ">s|>offset|>node of the CPU|>bytes";
    table(
        "First touches by time and offset",
        &Table::of(titles).with(rows),
    )
}

fn draw(mapped_bytes: u64, grid: &TouchPicture, runs: &[Run], colours: &NodeColours) -> Picture {
    let mut picture = Picture::fluid();
    let end = format!("offset {:.1}", ByteSize(mapped_bytes));
    picture.label(Label::new(0.0, FONT, FONT, "offset 0"));
    let end = Label::new(0.0, FONT, FONT, end).at(1.0);
    picture.label(end.anchored(Anchor::End));
    for run in runs {
        let [from, to] = run
            .columns
            .map(|column| f64::from(column) / f64::from(grid.columns));
        let y = TOP + f64::from(run.row) * CELL_HEIGHT;
        picture.shape(&html! {
            rect x=(percent(from)) y=(px(y)) width=(percent(to - from)) height=(px(CELL_HEIGHT))
                fill=(colours.of_node(Some(run.node)).unwrap_or_default()) {
                title { (run.title()) }
            }
        });
    }
    let bottom = TOP + f64::from(grid.rows) * CELL_HEIGHT;
    for y in [TOP, bottom] {
        picture.shape(&html! {
            line class="frame" x1="0" x2="100%" y1=(px(y)) y2=(px(y)) {}
        });
    }
    let times = format!("top {:.1} s, bottom {:.1} s", grid.first_s, grid.last_s);
    picture.label(Label::new(0.0, bottom + FONT + 4.0, FONT, times));
    picture
}

#[cfg(test)]
mod tests {
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
            cells: vec![
                cell(0, 0),
                cell(1, 0),
                cell(3, 0),
                cell(127, 47),
                cell(128, 0),
                cell(0, u32::MAX),
            ],
        };
        let colours = NodeColours::of([NodeId(1)].into_iter());
        let picture = draw(1 << 30, &grid, &runs(1 << 30, &grid), &colours);
        check_labels(&picture);
        let text = picture.markup("x", true).0;
        assert_eq!(text.matches("<rect").count(), 3);
        // Cells side by side are one shape, and one row of the table.
        let both = "node 1: 8 KiB, 0.50 to 0.79 s, offset 0 B to 16.0 MiB";
        assert!(text.contains(both), "{text}");
        assert!(
            text.contains("top 0.5 s, bottom 14.2 s") && text.contains("1.0 GiB"),
            "{text}"
        );
    }

    #[test]
    fn without_a_first_touch_there_is_no_picture() {
        assert!(touch_map(&TouchedSegment::default()).0.is_empty());
    }
}
