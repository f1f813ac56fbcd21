//! What was seen while the kernel balanced memory: the share of local use, and pages that moved.

use maud::{Markup, html};
use model::{BalanceReport, BalanceSample};
use report::Table;

use super::chart::{Axis, Chart, ChartPoint, Line, Scale};
use crate::documents::{or_unknown, table};

/// A share of a second, in percent; `None` where it is of nothing.
type Share = fn(&BalanceSample) -> Option<f64>;

/// The shares that are drawn.
const SHARES: [(&str, Share); 3] = [
    ("hint faults on the node of the CPU", |it| {
        Some(100.0 * BalanceReport::local_share(&[*it])?)
    }),
    ("pages that changed their node", |it| {
        of_watched(it.pages_changed, it)
    }),
    ("pages that came back", |it| {
        of_watched(it.pages_returned, it)
    }),
];

fn of_watched(pages: u64, sample: &BalanceSample) -> Option<f64> {
    (sample.pages_watched > 0).then(|| 100.0 * pages as f64 / sample.pages_watched as f64)
}

/// Returns the course of a balancing; nothing without a point.
pub fn balance_course(samples: &[BalanceSample]) -> Markup {
    let lines = SHARES
        .map(|(name, share)| line(name, samples, share))
        .into();
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
            (figures(samples))
        }
    }
}

/// The same figures as a table.
fn figures(samples: &[BalanceSample]) -> Markup {
    let [local, changed, returned] = SHARES.map(|(name, _)| name);
    let titles = format!(">s|>{local}, %|>{changed}, %|>{returned}, %");
    let rows = samples.iter().map(|sample| {
        let percent = |(_, share): (&str, Share)| {
            or_unknown(share(sample).map(|percent| format!("{percent:.1}")))
        };
        let shares = SHARES.map(percent).into_iter();
        std::iter::once(format!("{:.0}", sample.at_s))
            .chain(shares)
            .collect()
    });
    table("Second by second", &Table::of(&titles).with(rows))
}

fn line(name: &str, samples: &[BalanceSample], percent: Share) -> Line {
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
