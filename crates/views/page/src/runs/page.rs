//! The page of runs.

use maud::{Markup, html};
use report::{CaseView, RunView};

use crate::documents::{counted, framed, table};
use crate::pictures::{time_bars, trial_dots};

/// Maximum number of lines of evidence, warnings or reasons of one list.
pub(super) const LINES_MAX: usize = 200;

/// Returns the page of runs, in this order: one HTML file that needs no other and no script.
pub fn run_page(views: &[RunView]) -> String {
    let title = match views {
        [view] => report::plain(&view.question),
        views => counted(views.len(), "run"),
    };
    let content = html! {
        @if views.len() > 1 {
            nav { ul {
                @for (number, view) in views.iter().enumerate() {
                    li { a href=(format!("#run-{number}")) { (plain(&view.id)) }
                        ": " (plain(&view.question)) }
                }
            } }
        }
        @for (number, view) in views.iter().enumerate() {
            section id=(format!("run-{number}")) {
                @if views.len() > 1 { h2 { (plain(&view.question)) } }
                (content(view))
            }
        }
    };
    framed(&title, "numalab.run/1", &content)
}

fn content(view: &RunView) -> Markup {
    html! {
        p.lead { strong { (plain(&view.verdict)) } }
        @for warning in view.warnings.iter().take(LINES_MAX) {
            p.warning { (plain(warning)) }
        }
        (ranking(view))
        (trial_dots(view))
        (time_bars(view))
        @if !view.reasons.is_empty() {
            h3 { "Why" }
            (lines(&view.reasons))
        }
        @if !view.skipped.is_empty() {
            h3 { "Skipped" }
            ul { @for (case, reason) in view.skipped.iter().take(LINES_MAX) {
                li { (plain(case)) ": " (plain(reason)) }
            } }
        }
        h3 { "What it rests on" }
        dl {
            dt { "machine" } dd { (plain(&view.machine)) }
            dt { "run" } dd { (plain(&view.which)) }
            @if let Some(method) = &view.method { dt { "method" } dd { (plain(method)) } }
            dt { "page" } dd { "numalab " (env!("CARGO_PKG_VERSION")) }
        }
        @for case in &view.cases { (of_case(view, case)) }
        @if !view.definition.is_empty() {
            details {
                summary { "Definition of the experiment" }
                pre { (report::plain_lines(&view.definition)) }
            }
        }
    }
}

fn ranking(view: &RunView) -> Markup {
    let heads = view.ranking_heads();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let rows = view.cases.iter().map(|case| case.ranking_cells().to_vec());
    table("Ranking", &heads, &rows.collect::<Vec<_>>())
}

fn of_case(view: &RunView, case: &CaseView) -> Markup {
    let head = ["round", &view.unit, "counts", "why not"];
    let rows = case.trials.iter().map(|trial| {
        vec![
            trial.round.to_string(),
            trial.shown.clone().unwrap_or_else(|| "-".to_owned()),
            trial.validity.word().to_owned(),
            trial.reason.clone().unwrap_or_default(),
        ]
    });
    html! {
        details {
            summary { (plain(&case.name)) ": placement, evidence and trials" }
            @if !case.about.is_empty() { p { (plain(&case.about)) } }
            p { "Requested: " (plain(&case.asked)) }
            @if !case.evidence.is_empty() {
                p { "Evidence, as the kernel reports it:" }
                (lines(&case.evidence))
            }
            (table("Trials", &head, &rows.collect::<Vec<_>>()))
        }
    }
}

pub(super) fn lines(lines: &[String]) -> Markup {
    html! {
        ul { @for line in lines.iter().take(LINES_MAX) { li { (plain(line)) } } }
        @if lines.len() > LINES_MAX {
            p { "Left out: " (lines.len() - LINES_MAX) " more lines." }
        }
    }
}

fn plain(text: &str) -> String {
    report::plain(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::runs::samples::{any_view, view};

    #[test]
    fn the_verdict_comes_before_every_figure() {
        let page = run_page(&[view()]);
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text:?}"));
        let order = [
            "near is 1.49 times faster",
            "2 CPUs are shared",
            "Ranking",
            "<svg",
            "What it rests on",
        ];
        let places = order.map(place);
        assert!(places.is_sorted(), "{places:?}");
        assert!(page.contains("<td class=\"number\">4.62</td>"), "{page}");
        assert!(
            !page.contains("http-equiv") && !page.contains("src="),
            "{page}"
        );
    }

    #[test]
    fn several_runs_have_a_table_of_contents() {
        let page = run_page(&[view(), view()]);
        assert!(page.contains("href=\"#run-1\"") && page.contains("id=\"run-1\""));
    }

    proptest! {
        #[test]
        fn names_of_any_run_cannot_become_markup(view in any_view()) {
            let page = run_page(std::slice::from_ref(&view));
            prop_assert!(!page.contains("<b>evil"), "{page}");
            prop_assert_eq!(&page, &run_page(&[view]));
        }
    }
}
