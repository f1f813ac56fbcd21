//! Formats the figures of matrices, and a matrix of nodes as a grid, in as many blocks of columns
//! as the width requires.

use model::{NodeId, NodeMatrix, PageKind};

use crate::form::style::{Style, TextOptions};
use crate::run::figures::decimals;

/// Formats a latency: one decimal below 1000 ns, none above.
pub fn ns(value: f64) -> String {
    decimals(value, if value.abs() < 999.95 { 1 } else { 0 })
}

/// Formats a latency for classes and sentences: one decimal below 100 ns, none above.
pub(crate) fn short_ns(value: f64) -> String {
    decimals(value, if value.abs() < 99.95 { 1 } else { 0 })
}

/// Formats a range: `211 to 217`, or `248` where both ends look alike.
pub(crate) fn ns_range(low: f64, high: f64) -> String {
    let (low, high) = (short_ns(low), short_ns(high));
    if low == high {
        return low;
    }
    format!("{low} to {high}")
}

/// Formats a bandwidth in GB/s (10^9 bytes), without the unit.
pub fn gigabytes_per_s(bytes_per_s: f64) -> String {
    decimals(bytes_per_s / 1e9, 1)
}

/// Formats a size in the largest binary unit not above it, with at most one decimal: `32 KiB`, `1.5
/// MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (1 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1 << 20, "MiB"),
        (1 << 10, "KiB"),
    ];
    let Some((unit, name)) = UNITS.into_iter().find(|(unit, _)| bytes >= *unit) else {
        return format!("{bytes} bytes");
    };
    let number = format!("{:.1}", bytes as f64 / unit as f64);
    format!("{} {name}", number.strip_suffix(".0").unwrap_or(&number))
}

/// Describes pages: `transparent huge pages, 2 MiB each`.
pub(crate) fn pages(kind: PageKind, page_bytes: u64) -> String {
    format!("{}, {} each", kind.meaning(), size(page_bytes))
}

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

#[cfg(test)]
mod tests {
    use super::{ns, ns_range, short_ns, size};

    #[test]
    fn figures_have_as_many_decimals_as_mean_something() {
        assert_eq!(ns(53.21), "53.2");
        assert_eq!(ns(1234.5), "1,234");
        assert_eq!(ns(f64::NAN), "-");
        assert_eq!(short_ns(248.3), "248");
        assert_eq!(ns_range(211.4, 217.1), "211 to 217");
        assert_eq!(ns_range(53.2, 53.2), "53.2");
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(0), "0 bytes");
        assert_eq!(size(1 << 10), "1 KiB");
        assert_eq!(size(1536 << 10), "1.5 MiB");
        assert_eq!(size(32 << 20), "32 MiB");
        assert_eq!(size(u64::MAX), "16777216 TiB");
    }
}
