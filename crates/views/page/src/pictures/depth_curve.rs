//! Latency by working set: one line for each pair of nodes, with the caches marked.

use maud::{Markup, html};
use model::{CacheKind, LatencyCurve, LatencyResult, counted};
use report::{Table, figure_of_ns, figure_of_size};

use super::chart::{Axis, Chart, ChartPoint, LINES_MAX, Line, Mark, Scale};
use super::loaded_latency::{pair_name, tick};
use crate::documents::table;

/// Returns the curves in one picture; nothing where none was measured.
pub fn depth_curve(result: &LatencyResult) -> Markup {
    if result.curves.is_empty() {
        return html! {};
    }
    let marks = caches(result);
    let names: Vec<&str> = marks.iter().map(|mark| mark.name.as_str()).collect();
    let caches = names.join(", ");
    let chart = Chart {
        across: Axis {
            words: "working set",
            scale: Scale::Logarithmic,
            base: 2.0,
            figure: size_tick,
        },
        up: Axis {
            words: "latency, ns",
            scale: Scale::Logarithmic,
            base: 10.0,
            figure: tick,
        },
        lines: result.curves.iter().map(line).collect(),
        marks,
    };
    let Some(picture) = chart.picture() else {
        return html! {};
    };
    html! {
        figure {
            figcaption {
                "Latency by working set (CPU node to memory node), both axes logarithmic; "
                "the band reaches from the fastest to the slowest window"
                @if !caches.is_empty() {
                    "; dashed: sizes of the data caches that the kernel reports, " (caches)
                }
            }
            (picture.markup("Latency in ns against the size of the working set", false))
            (figures(&result.curves))
            @if result.curves.len() > LINES_MAX {
                p {
                    "Left out of the picture: "
                    (counted(result.curves.len() - LINES_MAX, "more pair")) "."
                }
            }
        }
    }
}

/// The same figures as a table.
fn figures(curves: &[LatencyCurve]) -> Markup {
    let rows = curves.iter().flat_map(|curve| {
        curve.points.iter().map(|point| {
            vec![
                curve.cpu_node.to_string(),
                curve.memory_node.to_string(),
                figure_of_size(point.bytes),
                figure_of_ns(point.ns),
                format!(
                    "{} to {}",
                    figure_of_ns(point.ns_min),
                    figure_of_ns(point.ns_max)
                ),
            ]
        })
    });
    let titles = ">CPU node|>memory node|>working set|>ns|>windows, ns";
    table("Latency by working set", &Table::of(titles).with(rows))
}

fn line(curve: &LatencyCurve) -> Line {
    let name = pair_name(curve.cpu_node, curve.memory_node);
    let points = curve.points.iter().map(|point| ChartPoint {
        x: point.bytes as f64,
        y: point.ns,
        between: Some((point.ns_min, point.ns_max)),
        title: format!(
            "{name}: {} ns in {} (windows {} to {} ns)",
            figure_of_ns(point.ns),
            figure_of_size(point.bytes),
            figure_of_ns(point.ns_min),
            figure_of_ns(point.ns_max),
        ),
    });
    Line {
        points: points.collect(),
        name,
    }
}

fn caches(result: &LatencyResult) -> Vec<Mark> {
    let caches = result.machine.iter().flat_map(|it| &it.topology.caches);
    let sized = caches.filter(|cache| cache.kind != CacheKind::Instruction);
    let sized = sized.filter_map(|cache| Some((cache.level, cache.size_bytes?)));
    let mut sized: Vec<(u32, u64)> = sized.filter(|(_, bytes)| *bytes > 0).collect();
    sized.sort_unstable();
    sized.dedup();
    let mark = |(level, bytes): (u32, u64)| Mark {
        x: bytes as f64,
        name: format!("L{level} {}", figure_of_size(bytes)),
    };
    sized.into_iter().map(mark).collect()
}

fn size_tick(bytes: f64) -> String {
    // `as` saturates, so that no figure is too large.
    figure_of_size(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::depth_curve;
    use model::{CpuId, CurvePoint, LatencyCurve, LatencyResult, NodeId, PageKind};

    #[test]
    fn every_working_set_is_a_point_with_units() {
        let point = |bytes, ns| CurvePoint {
            bytes,
            ns,
            ns_min: ns,
            ns_max: ns,
        };
        let curve = LatencyCurve {
            cpu_node: NodeId(0),
            memory_node: NodeId(1),
            cpu: CpuId(0),
            page_kind: PageKind::Small,
            page_bytes: 4096,
            points: vec![point(1 << 10, 1.2), point(1 << 30, 90.0), point(0, 1.0)],
            levels: Vec::new(),
        };
        let result = LatencyResult {
            curves: vec![curve],
            ..LatencyResult::default()
        };
        let text = depth_curve(&result).0;
        // A working set of 0 bytes has no place on a logarithmic axis.
        assert_eq!(text.matches("<circle").count(), 2);
        assert!(text.contains("0 → 1: 90.0 ns in 1 GiB"), "{text}");
        assert_eq!(depth_curve(&LatencyResult::default()).0, "");
    }
}
