//! Every trial of a run as a dot, with the median of each case and its interval.

use maud::{Markup, html};
use model::counted;
use report::{CaseView, ComparisonView, RunView, TrialView, Validity};

use super::colours::line_colour;
use super::picture::{Anchor, Label, NARROW, Picture, percent, px, text_width};

/// The plot from left to right, as shares of the picture's width: a dot at its end is not cut off.
const START: f64 = 0.02;
const END: f64 = 0.98;
const FONT: f64 = 13.0;
/// Heights: of a line of text, of dots and bar, of the windows below them.
const LINE: f64 = 18.0;
const DOTS: f64 = 18.0;
const WINDOWS: f64 = 20.0;
/// Maximum number of cases, of trials of one, and of windows of one trial.
const CASES_MAX: usize = 64;
const TRIALS_MAX: usize = 500;
const WINDOWS_MAX: usize = 100;
/// What the runs of a comparison are called.
pub(crate) const SIDES: [&str; 2] = ["first", "second"];

/// The figures that the axis reaches.
#[derive(Debug, Clone, Copy)]
struct Reach {
    low: f64,
    high: f64,
}

impl Reach {
    fn of(cases: &[&CaseView]) -> Option<Self> {
        let trials = cases
            .iter()
            .flat_map(|case| case.trials.iter().take(TRIALS_MAX));
        let of_trials = trials.filter_map(|trial| trial.value);
        let ends = cases.iter().filter_map(|case| case.interval_values);
        let ends = ends.flat_map(|(low, high)| [low, high]);
        let medians = cases.iter().filter_map(|case| case.median_value);
        let values = of_trials.chain(ends).chain(medians);
        let values = values.filter(|value| value.is_finite());
        let ends = values.fold(None, |ends, value| match ends {
            None => Some((value, value)),
            Some((low, high)) => Some((value.min(low), value.max(high))),
        });
        let (low, high): (f64, f64) = ends?;
        let room = ((high - low) * 0.06).max(high.abs() * 0.02).max(1e-9);
        let reach = Reach {
            // From zero on, unless that would press all dots together.
            low: if low >= 0.0 && low < 0.6 * high {
                0.0
            } else {
                low - room
            },
            high: high + room,
        };
        (reach.low.is_finite() && reach.high.is_finite()).then_some(reach)
    }

    /// Where a figure is, as a share of the picture's width.
    fn x(self, value: f64) -> f64 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        START + share * (END - START)
    }

    /// About five figures at even steps.
    fn ticks(self) -> Vec<f64> {
        let rough = (self.high - self.low) / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps
            .into_iter()
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let first = (self.low / step).ceil();
        let ticks = (0..12).map(|number| (first + f64::from(number)) * step);
        ticks.filter(|tick| *tick <= self.high).collect()
    }
}

/// A case to draw, and which colour it has.
struct Row<'v> {
    case: &'v CaseView,
    /// Its run in a comparison.
    side: Option<&'static str>,
    colour: usize,
}

/// Draws the trials; nothing for a run without figures, and none for an emulated machine, whose
/// speeds mean nothing.
pub fn trial_dots(view: &RunView) -> Markup {
    match view.is_emulated {
        true => html! {},
        false => figure(&rows(view), &view.unit, &view.confidence),
    }
}

/// Draws the trials of a run without words around them; `None` where `trial_dots` draws nothing.
pub(crate) fn bare_trial_dots(view: &RunView) -> Option<Picture> {
    picture(&rows(view), &view.unit).filter(|_| !view.is_emulated)
}

fn rows(view: &RunView) -> Vec<Row<'_>> {
    let row = |case| Row {
        case,
        side: None,
        colour: 0,
    };
    view.cases.iter().map(row).collect()
}

/// Draws the trials of both runs of a comparison on one axis, the cases of a pair one below the
/// other; nothing where figures are missing or speeds mean nothing.
pub fn compared_trial_dots(view: &ComparisonView) -> Markup {
    let rows = view.pairs.iter().flat_map(|pair| {
        let sides = pair.cases.iter().zip(SIDES).zip(0..);
        sides.map(|((case, side), colour)| Row {
            case,
            side: Some(side),
            colour,
        })
    });
    match view.is_emulated {
        true => html! {},
        false => figure(
            &rows.collect::<Vec<_>>(),
            &view.unit,
            &view.confidence_of_figures,
        ),
    }
}

fn figure(rows: &[Row<'_>], unit: &str, confidence: &str) -> Markup {
    let middle = rows.first().map_or("median", |row| row.case.middle);
    match picture(rows, unit) {
        None => html! {},
        Some(picture) => html! {
            figure {
                figcaption {
                    "Every trial, in " (report::plain(unit)) ": a filled dot counts, a hollow one "
                    "does not; the line is the " (middle) ", the bar its " (confidence)
                    " interval, the small dots are single windows."
                }
                (picture.markup("Every trial of each case", false))
                @if rows.len() > CASES_MAX {
                    p { "Left out: " (counted(rows.len() - CASES_MAX, "more case")) "." }
                }
            }
        },
    }
}

/// What stands above the dots of a row, and where the parts of the row are below its top.
struct Layout {
    names: Vec<String>,
    figures: Vec<String>,
    /// Whether figures have lines of their own.
    is_stacked: bool,
    has_windows: bool,
}

impl Layout {
    fn of(rows: &[Row<'_>]) -> Self {
        let names: Vec<String> = rows.iter().map(name).collect();
        let figures: Vec<String> = rows.iter().map(figures).collect();
        let width = |text: &String| text_width(text, FONT);
        let mut both = names.iter().zip(&figures);
        let is_stacked = both.any(|(name, text)| width(name) + width(text) + 12.0 > NARROW);
        let mut cases = rows.iter().map(|row| row.case);
        Layout {
            is_stacked,
            has_windows: cases.any(|it| it.trials.iter().any(|it| !it.windows.is_empty())),
            names,
            figures,
        }
    }

    fn middle(&self) -> f64 {
        let lines = if self.is_stacked { 2.0 } else { 1.0 };
        lines * LINE + DOTS / 2.0 + 4.0
    }

    fn row(&self) -> f64 {
        self.middle() + DOTS / 2.0 + if self.has_windows { WINDOWS } else { 8.0 }
    }
}

/// The name of a case, as far as the narrowest picture has room for it.
fn name(row: &Row<'_>) -> String {
    let name = report::plain(&row.case.name);
    let name = match row.side {
        Some(side) => format!("{side}: {name}"),
        None => name,
    };
    let room = (NARROW / text_width("m", FONT)) as usize;
    match name.chars().count() > room {
        true => name.chars().take(room - 1).chain(['…']).collect(),
        false => name,
    }
}

/// The figure of a case, and its ratio to the baseline where that is of the same run.
fn figures(row: &Row<'_>) -> String {
    let median = row.case.median.clone();
    let both = match row.case.ratio.as_str() {
        _ if row.side.is_some() => median.clone(),
        _ if row.case.verdict == BASELINE => format!("{median}, {BASELINE}"),
        ratio if ratio.len() > 1 => format!("{median}, × {ratio}"),
        _ => median.clone(),
    };
    let fits = |text: &String| text_width(text, FONT) <= NARROW;
    let shown = [both, median].into_iter().find(fits);
    shown.unwrap_or_default()
}

/// What the table says of the baseline.
const BASELINE: &str = "baseline";

fn picture(rows: &[Row<'_>], unit: &str) -> Option<Picture> {
    let rows = &rows[..rows.len().min(CASES_MAX)];
    let cases: Vec<&CaseView> = rows.iter().map(|row| row.case).collect();
    let reach = Reach::of(&cases)?;
    let layout = Layout::of(rows);
    let mut picture = Picture::fluid();
    let bottom = layout.row() * rows.len() as f64;
    picture.reach(0.0, bottom);
    draw_axis(&mut picture, reach, bottom, unit);
    // The baselines of two runs are two lines, of which none is for all rows.
    let is_one_run = rows.iter().all(|row| row.side.is_none());
    let mut baselines = cases
        .iter()
        .filter(|it| is_one_run && it.verdict == BASELINE);
    if let Some(median) = baselines.next().and_then(|case| case.median_value) {
        draw_line(&mut picture, reach.x(median), (0.0, bottom), "mark");
    }
    let unit = report::plain(unit);
    for (index, row) in rows.iter().enumerate() {
        let top = index as f64 * layout.row();
        let name = Label::new(0.0, top + LINE - 5.0, FONT, &layout.names[index]);
        picture.label(name.strong());
        let figures = Label::new(0.0, top + LINE - 5.0, FONT, &layout.figures[index]);
        picture.label(match layout.is_stacked {
            true => Label {
                y: top + 2.0 * LINE - 5.0,
                ..figures
            },
            false => figures.at(1.0).anchored(Anchor::End),
        });
        draw(&mut picture, reach, row, (top + layout.middle(), &unit));
    }
    Some(picture)
}

/// Draws the ticks, and says where the axis begins if that is not at 0.
fn draw_axis(picture: &mut Picture, reach: Reach, bottom: f64, unit: &str) {
    let baseline = bottom + FONT + 4.0;
    for tick in reach.ticks() {
        let x = reach.x(tick);
        let class = if tick == 0.0 { "frame" } else { "thin" };
        draw_line(picture, x, (0.0, bottom + 4.0), class);
        let label = Label::new(0.0, baseline, FONT - 1.0, tick_text(tick));
        let label = label.at(x).anchored(Anchor::Middle);
        let [left, _, right, _] = label.bounds_within(NARROW);
        let before = picture.labels.last();
        let is_free = before.is_none_or(|it| it.bounds_within(NARROW)[2] + 6.0 < left);
        if is_free && left >= 0.0 && right <= NARROW {
            picture.label(label);
        }
    }
    let y = px(bottom);
    picture.shape(&html! {
        line class="frame" x1=(percent(START)) x2=(percent(END)) y1=(y) y2=(y) {}
    });
    let mut words = report::plain(unit);
    if reach.low > 0.0 {
        // Two strokes across the axis: what is left of them is missing.
        let (above, below) = (px(bottom - 6.0), px(bottom + 6.0));
        picture.shape(&html! {
            @for (from, to) in [("0.4%", "1.2%"), ("1.2%", "2%")] {
                line class="line" x1=(from) y1=(below) x2=(to) y2=(above) {}
            }
        });
        words.push_str(" (the axis does not begin at 0)");
    }
    let room = (NARROW / text_width("m", FONT)) as usize;
    let words: String = words.chars().take(room).collect();
    picture.label(Label::new(0.0, baseline + LINE, FONT, words).muted());
}

/// Draws a vertical line.
fn draw_line(picture: &mut Picture, share: f64, (top, bottom): (f64, f64), class: &str) {
    let x = percent(share);
    picture.shape(&html! {
        line class=(class) x1=(x) x2=(x) y1=(px(top)) y2=(px(bottom)) {}
    });
}

/// A tick without more digits than it needs.
fn tick_text(tick: f64) -> String {
    let (value, prefix) = match tick.abs() {
        it if it >= 1e9 => (tick / 1e9, " G"),
        it if it >= 1e6 => (tick / 1e6, " M"),
        it if it >= 1e4 => (tick / 1e3, " k"),
        _ => (tick, ""),
    };
    let text = report::decimals(value, 6);
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    text + prefix
}

fn draw(picture: &mut Picture, reach: Reach, row: &Row<'_>, (middle, unit): (f64, &str)) {
    let (case, colour) = (row.case, line_colour(row.colour));
    if let Some((low, high)) = case.interval_values {
        let (left, right) = (reach.x(low), reach.x(high));
        picture.shape(&html! {
            rect x=(percent(left)) y=(px(middle - 8.0)) width=(percent((right - left).max(0.001)))
                height="16" fill=(colour) fill-opacity="0.22" stroke=(colour) {
                title { (report::plain(&case.name)) ": " (case.interval) " " (unit) }
            }
        });
    }
    draw_windows(picture, reach, case, middle + DOTS / 2.0 + 6.0);
    for trial in case.trials.iter().take(TRIALS_MAX) {
        let Some(value) = trial.value else { continue };
        let counts = trial.validity == Validity::Valid;
        let fill = if counts { &colour } else { "none" };
        picture.shape(&html! {
            circle cx=(percent(reach.x(value))) cy=(px(middle)) r="4" fill=(fill) stroke=(colour)
                stroke-width="1.2" fill-opacity="0.75" { title { (said(trial, unit)) } }
        });
    }
    if let Some(median) = case.median_value {
        let x = percent(reach.x(median));
        picture.shape(&html! {
            line.line x1=(x) x2=(x) y1=(px(middle - 10.0)) y2=(px(middle + 10.0))
                style="stroke-width:2.5" {
                title {
                    (report::plain(&case.name)) ": " (case.middle) " " (case.median) " " (unit)
                }
            }
        });
    }
}

/// Draws the single windows of all trials; those outside the axis are counted at its ends.
fn draw_windows(picture: &mut Picture, reach: Reach, case: &CaseView, y: f64) {
    let trials = case.trials.iter().take(TRIALS_MAX);
    let windows = trials.flat_map(|trial| trial.windows.iter().take(WINDOWS_MAX));
    let (mut below, mut above) = (0, 0);
    for window in windows {
        match *window {
            it if it < reach.low => below += 1,
            it if it > reach.high => above += 1,
            it => picture.shape(&html! {
                circle cx=(percent(reach.x(it))) cy=(px(y)) r="1.5" class="muted" {}
            }),
        }
    }
    let label = |text: String| Label::new(0.0, y + 4.0, 12.0, text).muted();
    if below > 0 {
        picture.label(label(format!("◂ {below}")));
    }
    if above > 0 {
        picture.label(label(format!("{above} ▸")).at(1.0).anchored(Anchor::End));
    }
}

/// All that is known of a trial, shown on hover.
fn said(trial: &TrialView, unit: &str) -> String {
    let shown = match &trial.shown {
        Some(shown) => format!("{shown} {unit}"),
        None => "no figure".to_owned(),
    };
    let reason = trial
        .reason
        .as_deref()
        .map_or_else(String::new, |it| format!(": {it}"));
    report::plain(&format!(
        "round {}: {shown}, {}{reason}",
        trial.round,
        trial.validity.word()
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::picture::tests::check_labels;
    use super::*;
    use crate::runs::samples::{any_view, view};

    fn drawn(view: &RunView) -> Option<Picture> {
        let rows = view.cases.iter().map(|case| Row {
            case,
            side: Some("second"),
            colour: 1,
        });
        picture(&rows.collect::<Vec<_>>(), &view.unit)
    }

    #[test]
    fn every_trial_with_a_figure_is_a_dot_that_says_it() {
        let found = drawn(&view()).unwrap();
        check_labels(&found);
        let svg = found.markup("trials", false).0;
        assert_eq!(svg.matches("<circle").count(), 4 + 2, "{svg}");
        assert!(
            svg.contains("round 1: 3.10 M logical reads/s, invalid: the CPUs differ"),
            "{svg}"
        );
        assert_eq!(svg.matches("fill=\"none\" stroke").count(), 1, "{svg}");
        let mut emulated = view();
        emulated.is_emulated = true;
        assert!(trial_dots(&emulated).0.is_empty());
    }

    proptest! {
        #[test]
        fn labels_of_any_run_stay_apart(view in any_view()) {
            if let Some(picture) = drawn(&view) {
                check_labels(&picture);
                let svg = picture.markup("trials", false).0;
                // Names may be such words; lengths stand in attributes, where a name is escaped.
                for length in ["=\"NaN", "=\"inf", "=\"-inf"] {
                    prop_assert!(!svg.contains(length), "{length} in {svg}");
                }
            }
        }
    }
}
