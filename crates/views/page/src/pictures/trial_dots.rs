//! Every trial of a run as a dot, with the median of each case and its interval.

use maud::{Markup, html};
use model::counted;
use report::{CaseView, ComparisonView, RunView, TrialView, Validity};

use super::colours::line_colour;
use super::picture::{Anchor, Label, NARROW, Picture, percent, px, text_width};
use super::trial_axis::{Reach, draw_axis, draw_line};

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
                    "does not; the line is the " (middle)
                    @if rows.iter().any(|row| row.case.interval_values.is_some()) {
                        ", the bar its " (confidence) " interval"
                    }
                    @if has_windows(rows) { ", the small dots are single windows" }
                    "."
                }
                (picture.markup("Every trial of each case", false))
                @if rows.len() > CASES_MAX {
                    p { "Left out: " (counted(rows.len() - CASES_MAX, "more case")) "." }
                }
            }
        },
    }
}

fn has_windows(rows: &[Row<'_>]) -> bool {
    let mut trials = rows.iter().flat_map(|row| &row.case.trials);
    trials.any(|trial| !trial.windows.is_empty())
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
        Layout {
            is_stacked,
            has_windows: has_windows(rows),
            names,
            figures,
        }
    }

    /// Height of name and figures.
    fn words(&self) -> f64 {
        if self.is_stacked { 2.0 * LINE } else { LINE }
    }

    fn middle(&self) -> f64 {
        self.words() + DOTS / 2.0 + 4.0
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
    let reach = reach(&cases)?;
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
        // No line of the axis crosses the words.
        picture.shape(&html! {
            rect width="100%" y=(px(top)) height=(px(layout.words())) fill="var(--paper)" {}
        });
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

/// The figures that the axis reaches.
fn reach(cases: &[&CaseView]) -> Option<Reach> {
    let all = cases.iter();
    let trials = all.flat_map(|case| case.trials.iter().take(TRIALS_MAX));
    let of_trials = trials.filter_map(|trial| trial.value);
    let ends = cases.iter().filter_map(|case| case.interval_values);
    let ends = ends.flat_map(|(low, high)| [low, high]);
    let medians = cases.iter().filter_map(|case| case.median_value);
    Reach::of(of_trials.chain(ends).chain(medians))
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
    // Below the windows, which reach the ends.
    let label = |text: String| Label::new(0.0, y + 13.0, 12.0, text).muted();
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
