//! Every trial of a run as a dot, with the median of each case and its interval.

use maud::{Markup, html};
use model::counted;
use report::{CaseView, ComparisonView, RunView, TrialView, Validity};

use super::colours::line_colour;
use super::picture::{Anchor, Label, Picture, px};

const WIDTH: f64 = 640.0;
const LEFT: f64 = 12.0;
const ROW: f64 = 52.0;
const FONT: f64 = 13.0;
/// Maximum number of cases, of trials of one, and of windows of one trial.
const CASES_MAX: usize = 64;
const TRIALS_MAX: usize = 500;
const WINDOWS_MAX: usize = 100;
/// Maximum number of characters of a name.
const NAME_MAX: usize = 60;
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

    fn x(self, value: f64) -> f64 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        LEFT + share * (WIDTH - 2.0 * LEFT)
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
            &view.confidence_of_medians,
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
                div.scroll { (picture.markup("Every trial of each case", false)) }
                @if rows.len() > CASES_MAX {
                    p { "Left out: " (counted(rows.len() - CASES_MAX, "more case")) "." }
                }
            }
        },
    }
}

fn picture(rows: &[Row<'_>], unit: &str) -> Option<Picture> {
    let rows = &rows[..rows.len().min(CASES_MAX)];
    let cases: Vec<&CaseView> = rows.iter().map(|row| row.case).collect();
    let reach = Reach::of(&cases)?;
    let mut picture = Picture::default();
    let bottom = ROW * rows.len() as f64 + 8.0;
    picture.reach(WIDTH, bottom);
    for tick in reach.ticks() {
        let x = px(reach.x(tick));
        picture.path(&format!("M{x} 4V{}", px(bottom)), "thin");
        let label = Label::new(
            reach.x(tick),
            bottom + FONT + 2.0,
            FONT - 1.0,
            tick_text(tick),
        );
        let [left, _, right, _] = label.clone().anchored(Anchor::Middle).bounds();
        let is_free = picture
            .labels
            .last()
            .is_none_or(|it| it.bounds()[2] + 6.0 < left);
        if is_free && left >= 0.0 && right <= WIDTH {
            picture.label(label.anchored(Anchor::Middle));
        }
    }
    let unit = report::plain(unit);
    let of_axis = Label::new(LEFT, bottom + 2.4 * FONT, FONT, unit.clone());
    picture.label(of_axis.muted());
    for (index, row) in rows.iter().enumerate() {
        draw(&mut picture, reach, row, (index as f64 * ROW, &unit));
    }
    Some(picture)
}

/// A tick without more digits than it needs.
fn tick_text(tick: f64) -> String {
    let text = report::decimals(tick, 6);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn draw(picture: &mut Picture, reach: Reach, row: &Row<'_>, (top, unit): (f64, &str)) {
    let case = row.case;
    let (middle, colour) = (top + 32.0, line_colour(row.colour).hex());
    let name = report::plain(&case.name);
    let name: String = name.chars().take(NAME_MAX).collect();
    let name = match row.side {
        Some(side) => format!("{side}: {name}"),
        None => name,
    };
    let [_, _, right, _] = {
        let label = Label::new(LEFT, top + 16.0, FONT, name);
        let bounds = label.bounds();
        picture.label(label);
        bounds
    };
    let figures = Label::new(right + 10.0, top + 16.0, FONT, case.median.clone());
    if figures.bounds()[2] <= WIDTH {
        picture.label(figures.muted());
    }
    if let Some((low, high)) = case.interval_values {
        let (left, right) = (reach.x(low), reach.x(high));
        picture.shape(&html! {
            rect x=(px(left)) y=(px(middle - 7.0)) width=(px((right - left).max(1.0)))
                height="14" fill=(colour) fill-opacity="0.22" {
                title { (report::plain(&case.name)) ": " (case.interval) " " (unit) }
            }
        });
    }
    for trial in case.trials.iter().take(TRIALS_MAX) {
        let said = said(trial, unit);
        draw_trial(picture, reach, trial, (middle, &colour, &said));
    }
    if let Some(median) = case.median_value {
        let x = px(reach.x(median));
        picture.shape(&html! {
            path.line d=(format!("M{x} {}V{}", px(middle - 9.0), px(middle + 9.0)))
                style="stroke-width:2" {
                title {
                    (report::plain(&case.name)) ": " (case.middle) " " (case.median) " " (unit)
                }
            }
        });
    }
}

fn draw_trial(
    picture: &mut Picture,
    reach: Reach,
    trial: &TrialView,
    (middle, colour, said): (f64, &str, &str),
) {
    for window in trial.windows.iter().take(WINDOWS_MAX) {
        // A window may be far off: those outside the axis are at its end.
        picture.shape(&html! {
            circle cx=(px(reach.x(*window))) cy=(px(middle + 12.0)) r="1.3" class="muted"
                fill-opacity="0.5" {}
        });
    }
    let Some(value) = trial.value else { return };
    let counts = trial.validity == Validity::Valid;
    let fill = if counts { colour } else { "none" };
    picture.shape(&html! {
        circle cx=(px(reach.x(value))) cy=(px(middle)) r="3.6" fill=(fill) stroke=(colour)
            stroke-width="1.2" fill-opacity="0.75" { title { (said) } }
    });
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
                for length in ["=\"NaN", "=\"inf", "=\"-inf", "=\"MNaN", "=\"Minf", "=\"M-inf"] {
                    prop_assert!(!svg.contains(length), "{length} in {svg}");
                }
            }
        }
    }
}
