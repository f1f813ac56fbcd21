//! Latency under load: what an access costs while other CPUs move bytes.

use maud::{Markup, html};
use model::{LoadLadder, NodeId, counted, node_words};
use report::{Table, figure_of_gigabytes_per_s, figure_of_ns};

use super::chart::{Axis, Chart, ChartPoint, LINES_MAX, Line, Mark, Scale};
use crate::documents::table;

/// What something else moved: where it works on the curve.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatingPoint {
    /// What worked there.
    pub name: String,
    /// Bytes per second moved.
    pub bytes_per_s: f64,
}

/// Returns the curves of all ladders in one picture, with these points as vertical lines; nothing
/// where nothing was measured.
pub fn loaded_latency(ladders: &[LoadLadder], operating: &[OperatingPoint]) -> Markup {
    let mark = |point: &OperatingPoint| Mark {
        x: point.bytes_per_s / 1e9,
        name: format!(
            "{}: {} GB/s",
            report::plain(&point.name),
            figure_of_gigabytes_per_s(point.bytes_per_s)
        ),
    };
    let chart = Chart {
        across: Axis {
            words: "bandwidth of the load, GB/s",
            scale: Scale::Linear,
            base: 10.0,
            figure: tick,
        },
        up: Axis {
            words: "latency, ns",
            scale: Scale::Linear,
            base: 10.0,
            figure: tick,
        },
        lines: ladders.iter().map(line).collect(),
        marks: operating.iter().map(mark).collect(),
    };
    let Some(picture) = chart.picture() else {
        return html! {};
    };
    html! {
        figure {
            figcaption {
                "Latency under load: one CPU measures (CPU node to memory node) while the CPUs of "
                "the load nodes generate load"
                @if !operating.is_empty() {
                    ". Dashed: what each case of the run moved; where it crosses a curve, an "
                    "access takes so long beside such a load"
                }
            }
            (picture.markup("Latency in ns against the bandwidth of the load in GB/s", false))
            (figures(ladders))
            @if ladders.len() > LINES_MAX {
                p {
                    "Left out of the picture: "
                    (counted(ladders.len() - LINES_MAX, "more pair")) "."
                }
            }
            @if !operating.is_empty() {
                ul { @for point in operating.iter().take(LINES_MAX) {
                    li { (report::plain(&point.name)) ": "
                        (figure_of_gigabytes_per_s(point.bytes_per_s)) " GB/s" }
                } }
            }
        }
    }
}

/// The same figures as a table.
fn figures(ladders: &[LoadLadder]) -> Markup {
    let rows = ladders.iter().flat_map(|ladder| {
        ladder.points.iter().map(|point| {
            vec![
                ladder.cpu_node.to_string(),
                ladder.memory_node.to_string(),
                format!(
                    "{} on {}",
                    ladder.load_threads,
                    node_words(&ladder.load_nodes)
                ),
                figure_of_gigabytes_per_s(point.bytes_per_s),
                figure_of_ns(point.ns),
            ]
        })
    });
    let titles = ">CPU node|>memory node|>load threads|>load, GB/s|>latency, ns";
    table("Latency under load", &Table::of(titles).with(rows))
}

fn line(ladder: &LoadLadder) -> Line {
    let pair = pair_name(ladder.cpu_node, ladder.memory_node);
    let point = |bytes_per_s: f64, ns: f64| ChartPoint {
        x: bytes_per_s / 1e9,
        y: ns,
        between: None,
        title: format!("{pair}: {}", words(bytes_per_s, ns)),
    };
    let points = ladder.points.iter();
    Line {
        name: pair.clone(),
        points: points.map(|it| point(it.bytes_per_s, it.ns)).collect(),
    }
}

/// The name of a pair: `0 → 3`.
pub(crate) fn pair_name(cpu_node: NodeId, memory_node: NodeId) -> String {
    format!("{cpu_node} → {memory_node}")
}

fn words(bytes_per_s: f64, ns: f64) -> String {
    let bandwidth = figure_of_gigabytes_per_s(bytes_per_s);
    format!("{} ns at {bandwidth} GB/s", figure_of_ns(ns))
}

/// Formats a tick: without superfluous decimals.
pub(crate) fn tick(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{value:.0e}"),
        size if size >= 1.0 || size == 0.0 => {
            let text = format!("{value:.1}");
            text.strip_suffix(".0").unwrap_or(&text).to_owned()
        }
        size if size >= 0.001 => {
            let text = format!("{value:.3}");
            text.trim_end_matches('0').to_owned()
        }
        _ => format!("{value:.0e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{OperatingPoint, loaded_latency, tick};
    use model::{LoadLadder, LoadPoint, NodeId, NodeSet};

    fn ladder(to: u32) -> LoadLadder {
        let point = |bytes_per_s, ns| LoadPoint {
            delay: None,
            bytes_per_s,
            ns,
        };
        LoadLadder {
            cpu_node: NodeId(0),
            memory_node: NodeId(to),
            load_nodes: NodeSet::of(NodeId(0)),
            load_threads: 3,
            points: vec![point(0.0, 80.0), point(40e9, 95.0), point(90e9, 260.0)],
        }
    }

    #[test]
    fn every_rung_is_a_point_with_units() {
        let operating = OperatingPoint {
            name: "run 7".to_owned(),
            bytes_per_s: 60e9,
        };
        let text = loaded_latency(&[ladder(0), ladder(1)], &[operating]).0;
        assert_eq!(text.matches("<circle").count(), 6);
        assert!(text.contains("0 → 1: 260.0 ns at 90.0 GB/s"), "{text}");
        assert!(text.contains("<title>run 7: 60.0 GB/s</title>"), "{text}");
        assert_eq!(loaded_latency(&[], &[]).0, "");
    }

    #[test]
    fn ticks_have_no_more_decimals_than_they_need() {
        let ticks = [0.0, 0.05, 0.2, 1.5, 20.0, 250.0, 2e7].map(tick);
        assert_eq!(ticks, ["0", "0.05", "0.2", "1.5", "20", "250", "2e7"]);
    }
}
