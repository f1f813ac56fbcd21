//! The page of a comparison of two runs.

use maud::{Markup, html};
use report::{ComparedRun, ComparisonView, PairView, Side, Table, plain};

use super::page::{LINES_MAX, lines};
use crate::documents::{Content, Top, framed, table};
use crate::pictures::{compared_time_bars, compared_trial_dots};

/// What the runs are called.
const SIDES: [&str; 2] = ["first", "second"];

/// Returns the page of a comparison: one HTML file that needs no other and no script.
pub fn comparison_page(view: &ComparisonView) -> String {
    let [first, second] = &view.runs;
    let title = match first.question == second.question {
        true => plain(&first.question),
        false => format!("{} compared with {}", plain(&second.id), plain(&first.id)),
    };
    let both = |of: fn(&ComparedRun) -> Option<&str>| match (of(first), of(second)) {
        (one, other) if one == other => one.map(str::to_owned),
        (one, other) => {
            let or_unknown = |it: Option<&str>| it.unwrap_or("unknown").to_owned();
            Some(format!("{}, then {}", or_unknown(one), or_unknown(other)))
        }
    };
    let confidence = view.confidence.as_ref();
    let top = Top {
        answer: view.answer.clone(),
        host: both(|it| it.host.as_deref()),
        at: both(|it| Some(&it.started)),
        target: Some(format!("{} (first), {} (second)", first.id, second.id)),
        sureness: Some(match confidence {
            Some(it) => format!(
                "{it} intervals of the ratios; figures are {}",
                view.estimate
            ),
            None => format!("no interval; figures are {}", view.estimate),
        }),
        machine: None,
        warnings: view.warnings.clone(),
    };
    let body = body(view);
    framed(&title, "numalab.compare/1", &Content { top, body })
}

fn body(view: &ComparisonView) -> Markup {
    html! {
        (compared_trial_dots(view))
        (pairs(view))
        (left_out("Only in the first: ", &view.only_first))
        (left_out("Only in the second: ", &view.only_second))
        (compared_time_bars(view))
        @if view.pairs.len() > 1 {
            h2 { "Pair by pair" }
            (lines(&view.pairs.iter().map(|pair| pair.sentence.clone()).collect::<Vec<_>>()))
        }
        (both(&view.runs))
        @for (run, side) in view.runs.iter().zip(SIDES) {
            @if !run.warnings.is_empty() {
                h2 { "Warnings of the " (side) ", " (plain(&run.id)) }
                (lines(&run.warnings))
            }
        }
        @for pair in view.pairs.iter().take(LINES_MAX) { (of_pair(view, pair)) }
        (definitions(&view.runs))
    }
}

fn pairs(view: &ComparisonView) -> Markup {
    let caption = format!("Second against first, by {}", view.estimate);
    table(&caption, &view.table())
}

fn left_out(which: &str, cases: &[String]) -> Markup {
    html! {
        @if !cases.is_empty() {
            p { (which) (plain(&cases.join(", "))) }
        }
    }
}

/// What both runs are, side by side, and what differs.
fn both([first, second]: &[ComparedRun; 2]) -> Markup {
    let facts = first.facts.iter().zip(&second.facts);
    let is_same = first.definition == second.definition;
    html! {
        div.scroll tabindex="0" role="region" aria-label="The two runs" {
            table.figures {
                caption { "The two runs" }
                thead { tr { td {} @for side in SIDES { th scope="col" { (side) } } td {} } }
                tbody {
                    @for ((name, one), (_, other)) in facts {
                        tr {
                            th scope="row" { (name) } td { (plain(one)) } td { (plain(other)) }
                            td { @if one != other { "differs" } }
                        }
                    }
                    @if !is_same {
                        tr { th scope="row" { "definition" } td {} td {} td { "differs" } }
                    }
                }
            }
        }
    }
}

fn of_pair(view: &ComparisonView, pair: &PairView) -> Markup {
    let titles = [
        ("run", Side::Left),
        ("round", Side::Right),
        (&*view.unit, Side::Right),
        ("counts", Side::Left),
        ("why not", Side::Left),
    ];
    let rows = pair.cases.iter().zip(SIDES).flat_map(|(case, side)| {
        case.trials.iter().map(move |trial| {
            let reason = trial.reason.clone().unwrap_or_default();
            vec![
                side.to_owned(),
                trial.round.to_string(),
                trial.shown.clone().unwrap_or_else(|| "-".to_owned()),
                trial.validity.word().to_owned(),
                reason,
            ]
        })
    });
    let [first, second] = &pair.cases;
    let name = match first.name == second.name {
        true => plain(&first.name),
        false => format!("{} and {}", plain(&first.name), plain(&second.name)),
    };
    html! {
        details {
            summary { (name) ": placement, evidence and trials" }
            @for (case, side) in pair.cases.iter().zip(SIDES) {
                p { "Requested in the " (side) ": " (plain(&case.asked)) }
                @if !case.evidence.is_empty() {
                    p { "Evidence, as the kernel reports it:" }
                    (lines(&case.evidence))
                }
                p {
                    "The " (side) " has a " (case.middle) " of " (plain(&case.median)) " "
                    (plain(&view.unit)) " (" (view.confidence_of_figures) " interval "
                    (plain(&case.interval)) "); valid trials: " (plain(&case.valid)) "."
                }
            }
            (table("Trials", &Table::new(&titles).with(rows)))
        }
    }
}

fn definitions([first, second]: &[ComparedRun; 2]) -> Markup {
    let is_same = first.definition == second.definition;
    html! {
        @if is_same && !first.definition.is_empty() {
            (definition("Definition of the experiment of both", first))
        } @else {
            (definition("Definition of the experiment of the first", first))
            (definition("Definition of the experiment of the second", second))
        }
    }
}

fn definition(title: &str, run: &ComparedRun) -> Markup {
    html! {
        @if !run.definition.is_empty() {
            details { summary { (title) } pre { (report::plain_lines(&run.definition)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::runs::samples::{any_comparison, comparison};

    #[test]
    fn the_verdict_comes_first_then_the_pairs_then_both_runs() {
        let page = comparison_page(&comparison());
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text:?}"));
        let order = [
            "far has 32.9 % less",
            "did not run side by side",
            "Every trial, in",
            "first: near",
            "second: far",
            "Second against first",
            "Only in the second: huge",
            "DB time per logical read",
            "The two runs",
            "Requested in the first",
        ];
        let places = order.map(place);
        assert!(places.is_sorted(), "{places:?}");
        assert!(page.contains("<td>differs</td>"), "{page}");
        assert!(page.contains("times, 95 % interval"), "{page}");
    }

    #[test]
    fn speeds_of_an_emulated_machine_are_not_drawn() {
        let mut view = comparison();
        view.is_emulated = true;
        assert!(!comparison_page(&view).contains("<svg"));
    }

    proptest! {
        #[test]
        fn names_of_any_comparison_cannot_become_markup(view in any_comparison()) {
            let page = comparison_page(&view);
            prop_assert!(!page.contains("<b>evil"), "{page}");
            prop_assert_eq!(&page, &comparison_page(&view));
        }
    }
}
