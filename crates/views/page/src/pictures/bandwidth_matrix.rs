//! Bandwidths between nodes as a matrix.

use maud::{Markup, html};
use model::{BandwidthResult, MatrixCell, NodeId, NodeMatrix};
use report::{Table, figure_of_gigabytes_per_s, plain};

use super::colours::Ramp;
use super::heat_map::{HeatCell, HeatMap};
use super::latency_matrix::part;
use super::locality::{Ordered, cells_in_order, ordered};
use crate::documents::{ROWS_MAX, UNKNOWN, table};

/// Returns the matrix; nothing where there are no nodes.
pub fn bandwidth_matrix(result: &BandwidthResult) -> Markup {
    // The time for a byte grows with distance, as latency does.
    let order = ordered(&result.matrix, |bytes_per_s| 1e9 / bytes_per_s);
    let notes = order.notes();
    let Some(map) = map(result, order) else {
        return html! {};
    };
    html! {
        figure {
            figcaption {
                "Bandwidth, GB/s (10⁹ bytes moved by the program), all CPUs of the row's node; "
                "kernel " (result.kernel.name())
            }
            (map.markup())
            (figures(&result.matrix))
        }
        (notes)
    }
}

/// The same figures as a table.
fn figures(matrix: &NodeMatrix) -> Markup {
    let rows = matrix.rows().flat_map(|(from, cells)| {
        let cells = matrix.memory_nodes().iter().zip(cells);
        cells.map(move |(to, cell)| {
            let interval = cell.low.zip(cell.high).map(|(low, high)| {
                let [low, high] = [low, high].map(figure_of_gigabytes_per_s);
                format!("{low} to {high}")
            });
            vec![
                from.to_string(),
                to.to_string(),
                cell.value
                    .map_or_else(|| absent(cell), figure_of_gigabytes_per_s),
                interval.unwrap_or_else(|| UNKNOWN.to_owned()),
            ]
        })
    });
    let titles = ">CPU node|>memory node|>GB/s|>interval, GB/s";
    let rows = Table::of(titles).with(rows.take(ROWS_MAX + 1));
    table("Bandwidth from CPU node to memory node", &rows)
}

fn absent(cell: &MatrixCell) -> String {
    match &cell.absent_because {
        Some(reason) => format!("not measured: {}", plain(reason)),
        None => "not measured".to_owned(),
    }
}

fn map(result: &BandwidthResult, order: Ordered) -> Option<HeatMap> {
    if order.rows.is_empty() || order.columns.is_empty() {
        return None;
    }
    let rows = result.matrix.rows();
    let values = rows
        .flat_map(|(_, cells)| cells)
        .filter_map(|cell| cell.value);
    let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let cell = |from: NodeId, to: NodeId, cell: Option<&MatrixCell>| {
        let value = cell.and_then(|cell| cell.value);
        HeatCell {
            share: value.map(|value| part(value, low, high)),
            figure: value.map(figure_of_gigabytes_per_s).unwrap_or_default(),
            title: title(from, to, cell),
            dots: 0,
        }
    };
    let legend = if low == high {
        let figure = figure_of_gigabytes_per_s(low);
        [String::new(), format!("{figure} GB/s"), String::new()]
    } else if low.is_finite() {
        [low, (low + high) / 2.0, high].map(|it| format!("{} GB/s", figure_of_gigabytes_per_s(it)))
    } else {
        ["slow", "", "fast"].map(str::to_owned)
    };
    Some(HeatMap {
        name: "Bandwidth between nodes in GB/s".to_owned(),
        id: "bandwidth",
        ramp: Ramp::Sequential,
        cells: cells_in_order(&result.matrix, &order, cell),
        rows: order.rows,
        columns: order.columns,
        row_tree: order.row_tree,
        column_tree: order.column_tree,
        tree_words: "tree: mean time per byte between groups, from 0",
        legend,
        legend_words: "bandwidth, GB/s (dark: slow)",
        has_dots: false,
    })
}

fn title(from: NodeId, to: NodeId, cell: Option<&MatrixCell>) -> String {
    let figure = figure_of_gigabytes_per_s;
    let words = match cell.and_then(|cell| Some((cell, cell.value?))) {
        Some((cell, value)) => match (cell.low, cell.high) {
            (Some(low), Some(high)) => {
                let ends = (figure(low), figure(high));
                format!("{} GB/s ({} to {} GB/s)", figure(value), ends.0, ends.1)
            }
            _ => format!("{} GB/s", figure(value)),
        },
        None => cell.map_or_else(|| "not measured".to_owned(), absent),
    };
    format!("CPU node {from} to memory node {to}: {words}")
}
