//! What was seen while the kernel balanced memory: the share of local use, and pages that moved.

use maud::{Markup, html};
use model::{BalanceReport, BalanceSample};

use super::chart::{Axis, Chart, ChartPoint, Line, Scale};

/// Returns the course of a balancing; nothing without a point.
pub fn balance_course(samples: &[BalanceSample]) -> Markup {
    let local = |sample: &BalanceSample| Some(100.0 * BalanceReport::local_share(&[*sample])?);
    let of_watched = |pages: u64, sample: &BalanceSample| {
        (sample.pages_watched > 0).then(|| 100.0 * pages as f64 / sample.pages_watched as f64)
    };
    let lines = vec![
        line("hint faults on the node of the CPU", samples, local),
        line("pages that changed their node", samples, |it| {
            of_watched(it.pages_changed, it)
        }),
        line("pages that came back", samples, |it| {
            of_watched(it.pages_returned, it)
        }),
    ];
    let axis = |words| Axis {
        words,
        scale: Scale::Linear,
        base: 10.0,
        figure: |number| format!("{number:.0}"),
    };
    let chart = Chart {
        across: axis("time, s"),
        up: axis("share, %"),
        lines,
        marks: Vec::new(),
    };
    let Some(picture) = chart.picture() else {
        return html! {};
    };
    html! {
        figure {
            figcaption {
                "Hint faults of the whole machine, and pages of the segments that were watched, "
                "second by second. A second without hint faults has no local share."
            }
            (picture.markup("Shares in percent against time in seconds", false))
        }
    }
}

fn line(
    name: &str,
    samples: &[BalanceSample],
    percent: impl Fn(&BalanceSample) -> Option<f64>,
) -> Line {
    let point = |sample: &BalanceSample| {
        let (x, y) = (sample.at_s, percent(sample)?);
        Some(ChartPoint {
            x,
            y,
            between: None,
            title: format!("{name}: {y:.1} % at {x:.0} s"),
        })
    };
    Line {
        name: name.to_owned(),
        points: samples.iter().filter_map(point).collect(),
    }
}
