//! Where the time of sessions went: a bar for each case, its parts per logical read.

use maud::{Markup, html};
use model::counted;
use report::{CaseView, ComparisonView, RunView, Side, Table};

use super::colours::category;
use super::picture::{Anchor, Label, NARROW, Picture, percent, px, text_width};
use super::trial_dots::SIDES;
use crate::documents::table;

const ROW: f64 = 46.0;
const FONT: f64 = 13.0;
/// Room for the sum of a row beside its name.
const SUM: f64 = 96.0;
/// Maximum number of cases, and of parts of the key.
const CASES_MAX: usize = 64;
const PARTS_MAX: usize = 12;

/// A case to draw, with its run in a comparison.
type Row<'v> = (&'v CaseView, Option<&'static str>);

/// Draws the bars; nothing where no session read blocks, or the machine is emulated.
pub fn time_bars(view: &RunView) -> Markup {
    let cases = view.cases.iter().map(|case| (case, None));
    match view.is_emulated {
        true => html! {},
        false => figure(cases.collect()),
    }
}

/// Draws the bars of both runs of a comparison, the cases of a pair one below the other.
pub fn compared_time_bars(view: &ComparisonView) -> Markup {
    let cases = view.pairs.iter().flat_map(|pair| {
        let sides = pair.cases.iter().zip(SIDES);
        sides.map(|(case, side)| (case, Some(side)))
    });
    match view.is_emulated {
        true => html! {},
        false => figure(cases.collect()),
    }
}

fn figure(mut cases: Vec<Row<'_>>) -> Markup {
    cases.retain(|(case, _)| !case.time.is_empty());
    let names = names(&cases);
    if names.is_empty() {
        return html! {};
    }
    html! {
        figure {
            figcaption {
                "DB time per logical read, in ns, by what it went to: the shorter a bar, the "
                "cheaper a read."
            }
            (picture(&cases, &names).markup("DB time per logical read", false))
            ul.key {
                @for (index, name) in names.iter().enumerate() {
                    li {
                        i style=(format!("background:{}", category(index))) {}
                        (report::plain(name))
                    }
                }
            }
            (figures(&cases, &names))
            @if cases.len() > CASES_MAX {
                p { "Left out: " (counted(cases.len() - CASES_MAX, "more case")) "." }
            }
        }
    }
}

/// The parts of all cases, in the order in which they are met; the last stands for all others.
fn names(cases: &[Row<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in cases.iter().flat_map(|(case, _)| &case.time) {
        if !names.contains(&part.name) {
            names.push(part.name.clone());
        }
    }
    if names.len() > PARTS_MAX {
        names.truncate(PARTS_MAX - 1);
        names.push("other waits".to_owned());
    }
    names
}

/// The same figures as a table.
fn figures(cases: &[Row<'_>], names: &[String]) -> Markup {
    let names_of_columns = names.iter().map(String::as_str).chain(["all"]);
    let columns = names_of_columns.map(|name| (name, Side::Right));
    let columns: Vec<_> = std::iter::once(("case", Side::Left))
        .chain(columns)
        .collect();
    let rows = cases.iter().map(|(case, side)| {
        let mut sums = vec![0.0; names.len() + 1];
        for part in &case.time {
            sums[place(names, &part.name)] += part.ns_per_read;
            sums[names.len()] += part.ns_per_read;
        }
        let figure = |sum: &f64| match *sum > 0.0 {
            true => report::decimals(*sum, 1),
            false => "-".to_owned(),
        };
        let cells = sums.iter().map(figure);
        std::iter::once(named(case, *side)).chain(cells).collect()
    });
    table(
        "DB time per logical read, ns",
        &Table::new(&columns).with(rows),
    )
}

/// The place of a part among the names; the last stands for all others.
fn place(names: &[String], part: &str) -> usize {
    let index = names.iter().position(|name| name == part);
    index.unwrap_or(names.len() - 1)
}

/// The name of a case, with its run in a comparison.
fn named(case: &CaseView, side: Option<&str>) -> String {
    let name = report::plain(&case.name);
    match side {
        Some(side) => format!("{side}: {name}"),
        None => name,
    }
}

fn picture(cases: &[Row<'_>], names: &[String]) -> Picture {
    let total = |case: &CaseView| case.time.iter().map(|part| part.ns_per_read).sum::<f64>();
    let longest = cases
        .iter()
        .map(|(case, _)| total(case))
        .fold(0.0, f64::max);
    let mut picture = Picture::fluid();
    picture.reach(0.0, ROW * cases.len().min(CASES_MAX) as f64);
    let room = ((NARROW - SUM) / text_width("m", FONT)) as usize;
    for (row, (case, side)) in cases.iter().take(CASES_MAX).enumerate() {
        let top = row as f64 * ROW;
        let name: String = named(case, *side).chars().take(room).collect();
        picture.label(Label::new(0.0, top + 16.0, FONT, name).strong());
        let sum = format!("{:.1} ns", total(case));
        if text_width(&sum, FONT) < SUM {
            let sum = Label::new(0.0, top + 16.0, FONT, sum).at(1.0);
            picture.label(sum.anchored(Anchor::End));
        }
        let mut left = 0.0;
        for part in &case.time {
            let index = place(names, &part.name);
            let width = (part.ns_per_read / longest).max(0.0);
            picture.shape(&html! {
                rect.cell x=(percent(left)) y=(px(top + 22.0)) width=(percent(width)) height="16"
                    fill=(category(index)) {
                    title {
                        (report::plain(&case.name)) ": " (report::plain(&part.name)) " "
                        (part.shown) " per logical read"
                    }
                }
            });
            left += width;
        }
    }
    picture
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::picture::tests::check_labels;
    use super::*;
    use crate::runs::samples::{any_view, view};

    #[test]
    fn parts_of_one_name_have_one_colour() {
        let html = time_bars(&view()).0;
        assert_eq!(html.matches("<rect").count(), 4, "{html}");
        assert_eq!(html.matches("DB CPU</li>").count(), 1, "{html}");
        let blue = format!("fill=\"{}\"", category(0));
        assert_eq!(html.matches(&blue).count(), 2, "{html}");
    }

    proptest! {
        #[test]
        fn bars_of_any_run_stay_within_the_picture(view in any_view()) {
            let cases = view.cases.iter().map(|case| (case, Some("second")));
            let cases: Vec<Row<'_>> = cases.collect();
            let names = names(&cases);
            prop_assert!(names.len() <= PARTS_MAX);
            if !names.is_empty() {
                let picture = picture(&cases, &names);
                check_labels(&picture);
                prop_assert!(!picture.markup("time", false).0.contains("=\"NaN"));
            }
        }
    }
}
