//! Latencies between nodes as two matrices: as measured, and measured against what the firmware
//! says.

use maud::{Markup, html};
use model::{LatencyResult, MatrixCell, NodeId};
use report::{figure_of_ns, plain};

use super::colours::Ramp;
use super::heat_map::{FIGURES_MAX, HeatCell, HeatMap};
use super::locality::{Ordered, cells_in_order, ordered};

/// The least factor at the ends of the scale of ratios: small differences are not to look large.
const RATIO_END_MIN: f64 = 1.25;

/// Returns both matrices; nothing where there are no nodes.
pub fn latency_matrix(result: &LatencyResult) -> Markup {
    let order = ordered(&result.matrix, |ns| ns);
    if order.rows.is_empty() || order.columns.is_empty() {
        return html! {};
    }
    let measured = measured(result, &order);
    let ratio = against_firmware(result, &order);
    html! {
        div.sides {
            figure {
                figcaption { "Measured latency, ns" }
                (measured.markup())
            }
            @if let Some(ratio) = ratio {
                figure {
                    figcaption {
                        "Measured ÷ firmware: how many times as far from local as the firmware's "
                        "distances say"
                    }
                    (ratio.markup())
                }
            }
        }
        (order.notes())
    }
}

fn measured(result: &LatencyResult, order: &Ordered) -> HeatMap {
    let rows = result.matrix.rows();
    let values = rows
        .flat_map(|(_, cells)| cells)
        .filter_map(|cell| cell.value);
    let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), ns| {
        (low.min(ns), high.max(ns))
    });
    let classes = result.classes_by_row();
    let is_large = order.rows.len().max(order.columns.len()) > FIGURES_MAX / 4;
    let figure = |ns: f64| match figure_of_ns(ns) {
        // Tenths do not fit into many cells; they are in the table.
        text if is_large => text.split('.').next().unwrap_or_default().to_owned(),
        text => text,
    };
    let cell = |from: NodeId, to: NodeId, cell: Option<&MatrixCell>| {
        let class = classes.class(from, to).map(|class| class.class);
        let value = cell.and_then(|cell| cell.value);
        HeatCell {
            // Bright is near.
            share: value.map(|ns| 1.0 - part(ns, low, high)),
            figure: value.map(&figure).unwrap_or_default(),
            title: title(from, to, cell, class),
            dots: class.unwrap_or(0),
        }
    };
    let legend = if low == high {
        [
            String::new(),
            format!("{} ns", figure_of_ns(low)),
            String::new(),
        ]
    } else if low.is_finite() {
        [high, (low + high) / 2.0, low].map(|ns| format!("{} ns", figure_of_ns(ns)))
    } else {
        ["far", "", "near"].map(str::to_owned)
    };
    HeatMap {
        name: "Measured latency between nodes in ns".to_owned(),
        id: "latency",
        ramp: Ramp::Sequential,
        rows: order.rows.clone(),
        columns: order.columns.clone(),
        cells: cells_in_order(&result.matrix, order, cell),
        row_tree: order.row_tree.clone(),
        column_tree: order.column_tree.clone(),
        tree_words: "tree: mean latency between groups, from 0 ns",
        legend,
        legend_words: "latency, ns (dark: far)",
        has_dots: result.hop_classes.iter().any(|class| class.class > 0),
    }
}

fn title(from: NodeId, to: NodeId, cell: Option<&MatrixCell>, class: Option<u32>) -> String {
    let mut title = format!("CPU node {from} to memory node {to}: ");
    let Some((cell, ns)) = cell.and_then(|cell| Some((cell, cell.value?))) else {
        title.push_str("not measured");
        if let Some(reason) = cell.and_then(|cell| cell.absent_because.as_deref()) {
            title.push_str(&format!(": {}", plain(reason)));
        }
        return title;
    };
    title.push_str(&format!("{} ns", figure_of_ns(ns)));
    if let (Some(low), Some(high)) = (cell.low, cell.high) {
        let ends = (figure_of_ns(low), figure_of_ns(high));
        title.push_str(&format!(" ({} to {} ns)", ends.0, ends.1));
    }
    if let Some(class) = class {
        title.push_str(&format!(", hop class {class}"));
    }
    if cell.is_unsteady {
        title.push_str(", unsteady");
    }
    title
}

/// The latency relative to local divided by the distance relative to local, from one node to
/// another: 1 where the firmware is right, 2 where memory is twice as far as it says. `None` where
/// one of the four figures is unknown or a distance is 0.
pub fn measured_by_firmware(result: &LatencyResult, from: NodeId, to: NodeId) -> Option<f64> {
    let distances = result.distances.as_ref()?;
    let distance = |to| {
        distances
            .distance(from, to)
            .filter(|it| *it > 0)
            .map(f64::from)
    };
    let firmware = distance(to)? / distance(from)?;
    let measured = result.matrix.value(from, to)? / result.matrix.value(from, from)?;
    Some(measured / firmware).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
}

fn against_firmware(result: &LatencyResult, order: &Ordered) -> Option<HeatMap> {
    let ratio = |from, to| measured_by_firmware(result, from, to);
    let all = cells_in_order(&result.matrix, order, |from, to, _| ratio(from, to));
    if order.rows.len() * order.columns.len() < 2 {
        return None;
    }
    let away = all.iter().flatten().flatten().map(|ratio| ratio.ln().abs());
    let end = away.reduce(f64::max)?.max(RATIO_END_MIN.ln());
    let cell = |from: NodeId, to: NodeId, _: Option<&MatrixCell>| {
        let ratio = ratio(from, to);
        let words = match ratio {
            Some(ratio) => format!("{ratio:.2} times as far as the firmware says"),
            None => "unknown: a figure or a distance is missing".to_owned(),
        };
        HeatCell {
            share: ratio.map(|ratio| 0.5 + ratio.ln() / end / 2.0),
            figure: ratio.map(figure_of_ratio).unwrap_or_default(),
            title: format!("CPU node {from} to memory node {to}: {words}"),
            dots: 0,
        }
    };
    let top = end.exp();
    Some(HeatMap {
        name: "Measured latency divided by the firmware's distance, both relative to local"
            .to_owned(),
        id: "firmware",
        ramp: Ramp::Diverging,
        rows: order.rows.clone(),
        columns: order.columns.clone(),
        cells: cells_in_order(&result.matrix, order, cell),
        row_tree: None,
        column_tree: None,
        tree_words: "",
        legend: [
            figure_of_ratio(1.0 / top),
            "1".to_owned(),
            figure_of_ratio(top),
        ],
        legend_words: "measured ÷ firmware (orange: farther than it says)",
        has_dots: false,
    })
}

/// Formats a ratio in three digits.
fn figure_of_ratio(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 99.95 => format!("{ratio:.0}"),
        ratio if ratio >= 9.995 => format!("{ratio:.1}"),
        _ => format!("{ratio:.2}"),
    }
}

/// The place of a value between `low` and `high`, 0 to 1; the start where both are one.
pub(crate) fn part(value: f64, low: f64, high: f64) -> f64 {
    if high > low {
        (value - low) / (high - low)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::picture::tests::check_labels;
    use super::{against_firmware, latency_matrix, measured, measured_by_firmware, ordered};
    use model::{DistanceTable, LatencyResult, MatrixCell, NodeId, NodeMatrix};

    /// Article 002: node 3 is one hop further, although the firmware says 21 for all.
    fn article() -> LatencyResult {
        let nodes: Vec<NodeId> = (0..4).map(NodeId).collect();
        let row = |ns: [f64; 4]| ns.map(MatrixCell::of).to_vec();
        let distances =
            (0..4).map(|row| (0..4).map(|to| if row == to { 10 } else { 21 }).collect());
        LatencyResult {
            matrix: NodeMatrix::new(
                nodes.clone(),
                nodes.clone(),
                vec![
                    row([53.0, 211.0, 217.0, 248.0]),
                    row([211.0, 53.0, 248.0, 217.0]),
                    row([217.0, 248.0, 53.0, 211.0]),
                    row([248.0, 217.0, 211.0, 53.0]),
                ],
            )
            .unwrap(),
            distances: DistanceTable::new(nodes, distances.collect()),
            ..LatencyResult::default()
        }
    }

    #[test]
    fn the_ratio_says_what_the_firmware_hides() {
        let result = article();
        let ratio = |to| measured_by_firmware(&result, NodeId(0), NodeId(to)).unwrap();
        assert!((ratio(0) - 1.0).abs() < 1e-9);
        assert!((ratio(3) - 248.0 / 53.0 / 2.1).abs() < 1e-9);
        assert_eq!(measured_by_firmware(&result, NodeId(0), NodeId(9)), None);
    }

    #[test]
    fn both_matrices_are_drawn_without_overlapping_labels() {
        let result = article();
        let order = ordered(&result.matrix, |ns| ns);
        check_labels(&measured(&result, &order).picture());
        check_labels(&against_firmware(&result, &order).unwrap().picture());
        let text = latency_matrix(&result).0;
        assert_eq!(text, latency_matrix(&result).0);
        assert!(
            text.contains("CPU node 0 to memory node 3: 248.0 ns"),
            "{text}"
        );
    }

    #[test]
    fn without_distances_there_is_no_second_matrix() {
        let result = LatencyResult {
            distances: None,
            ..article()
        };
        assert_eq!(latency_matrix(&result).0.matches("role=\"img\"").count(), 1);
        assert_eq!(latency_matrix(&LatencyResult::default()).0, "");
    }
}
