//! The page of runs.

use maud::{Markup, html};
use model::{LoadLadder, Metric, counted};
use report::{BANDWIDTH_FORMAT, CaseView, RunView, Side, Table};

use crate::Error;
use crate::documents::{Content, Top, framed, framed_parts, table};
use crate::documents::{checked_format, read_bandwidth};
use crate::pictures::{OperatingPoint, loaded_latency, time_bars, trial_dots};

/// The document that a run is in JSON.
const FORMAT: &str = "numalab.run/1";
/// Maximum number of lines of evidence, warnings or reasons of one list.
pub(super) const LINES_MAX: usize = 200;

/// Returns the page of runs, in this order: one HTML file that needs no other and no script.
pub fn run_page(views: &[RunView]) -> String {
    of_runs(views, &[])
}

/// Returns the page of runs, with what their cases moved on the loaded latencies of the machine:
/// `document` is what `numalab bandwidth --loaded --json` wrote there.
///
/// # Errors
/// When it is no such document.
pub fn run_page_with_load(views: &[RunView], document: &str) -> Result<String, Error> {
    checked_format(document, &[BANDWIDTH_FORMAT])?;
    let bandwidth = read_bandwidth(document)?;
    match bandwidth.ladders.is_empty() {
        true => Err(Error::Figures {
            field: "ladders",
            expected: "latencies under load (numalab bandwidth --loaded)".to_owned(),
            found: "none".to_owned(),
        }),
        false => Ok(of_runs(views, &bandwidth.ladders)),
    }
}

fn of_runs(views: &[RunView], ladders: &[LoadLadder]) -> String {
    let contents: Vec<Content> = views.iter().map(|view| content(view, ladders)).collect();
    match (views, contents.as_slice()) {
        ([view], [content]) => framed(&plain(&view.question), FORMAT, content),
        _ => {
            let titles = views.iter();
            let titles = titles.map(|it| format!("{}: {}", plain(&it.id), plain(&it.question)));
            let parts: Vec<_> = titles.zip(&contents).collect();
            framed_parts(&counted(views.len(), "run"), FORMAT, &parts)
        }
    }
}

fn content(view: &RunView, ladders: &[LoadLadder]) -> Content {
    let top = Top {
        answer: view.answer.clone(),
        host: view.host.clone(),
        at: Some(view.started.clone()),
        sureness: Some(view.sureness.clone()),
        machine: Some(view.machine.clone()),
        warnings: view.warnings.clone(),
        target: None,
    };
    let body = body(view, ladders);
    Content { top, body }
}

fn body(view: &RunView, ladders: &[LoadLadder]) -> Markup {
    let operating = operating_points(view);
    html! {
        @if !view.curves.is_empty() && !view.is_emulated { (loaded_latency(&view.curves, &[])) }
        (trial_dots(view))
        (ranking(view))
        @if view.verdict != view.answer { p { (plain(&view.verdict)) "." } }
        (time_bars(view))
        @if !operating.is_empty() { (loaded_latency(ladders, &operating)) }
        @if !view.reasons.is_empty() {
            h2 { "Why" }
            (lines(&view.reasons))
        }
        @if !view.skipped.is_empty() {
            h2 { "Skipped" }
            ul { @for (case, reason) in view.skipped.iter().take(LINES_MAX) {
                li { (plain(case)) ": " (plain(reason)) }
            } }
        }
        h2 { "What it rests on" }
        dl.list {
            dt { "run" } dd { (plain(&view.which)) }
            @if let Some(method) = &view.method { dt { "method" } dd { (plain(method)) } }
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

/// What the cases of a run moved; none of a run that counts something else.
fn operating_points(view: &RunView) -> Vec<OperatingPoint> {
    if view.unit != Metric::BytesPerSecond.facts().shown_unit || view.is_emulated {
        return Vec::new();
    }
    let cases = view.cases.iter();
    let point = |case: &CaseView| {
        Some(OperatingPoint {
            name: case.name.clone(),
            bytes_per_s: case.median_value? * view.unit_is,
        })
    };
    cases.filter_map(point).collect()
}

fn ranking(view: &RunView) -> Markup {
    let title = if view.is_curve {
        "Latency under load"
    } else {
        "Ranking"
    };
    table(title, &view.table())
}

fn of_case(view: &RunView, case: &CaseView) -> Markup {
    let rows = case.trials.iter().map(|trial| {
        vec![
            trial.round.to_string(),
            trial.shown.clone().unwrap_or_else(|| "-".to_owned()),
            trial.validity.word().to_owned(),
            trial.reason.clone().unwrap_or_default(),
        ]
    });
    let titles = [
        ("round", Side::Right),
        (&*view.unit, Side::Right),
        ("counts", Side::Left),
        ("why not", Side::Left),
    ];
    html! {
        details {
            summary { (plain(&case.name)) ": placement, evidence and trials" }
            @if !case.about.is_empty() { p { (plain(&case.about)) } }
            p { "Requested: " (plain(&case.asked)) }
            @if !case.evidence.is_empty() {
                p { "Evidence, as the kernel reports it:" }
                (lines(&case.evidence))
            }
            (table("Trials", &Table::new(&titles).with(rows)))
        }
    }
}

pub(super) fn lines(lines: &[String]) -> Markup {
    html! {
        ul { @for line in lines.iter().take(LINES_MAX) { li { (plain(line)) } } }
        @if lines.len() > LINES_MAX {
            p { "Left out: " (counted(lines.len() - LINES_MAX, "more line")) "." }
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
            "db1, 2 nodes",
            "2 CPUs are shared",
            "<svg",
            "Ranking",
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

    const LOADED: &str = r#"{"format": "numalab.bandwidth/1", "kernel": "read",
        "cpu_nodes": [0], "memory_nodes": [0], "bytes_per_s": [[9e10]],
        "ladders": [{"cpu_node": 0, "memory_node": 0, "load_nodes": "0", "load_threads": 1,
            "points": [{"delay": null, "bytes_per_s": 0.0, "ns": 90.0},
                {"delay": 3, "bytes_per_s": 1e10, "ns": 150.0}]}]}"#;

    #[test]
    fn cases_that_move_bytes_are_on_the_curve_of_latency_under_load() {
        let mut scan = view();
        (scan.unit, scan.unit_is) = ("GB/s".to_owned(), 1e9);
        let page = run_page_with_load(&[scan.clone()], LOADED).unwrap();
        assert!(
            page.contains("Latency under load") && page.contains("near: 4.6 GB/s"),
            "{page}"
        );
        // Emulated speeds mean nothing, and logical reads are no bytes.
        scan.is_emulated = true;
        for other in [scan, view()] {
            let page = run_page_with_load(&[other], LOADED).unwrap();
            assert!(!page.contains("Latency under load"), "{page}");
        }
        let without = LOADED.replace("\"ladders\"", "\"others\"");
        let error = run_page_with_load(&[view()], &without).unwrap_err();
        assert!(
            error.to_string().contains("numalab bandwidth --loaded"),
            "{error}"
        );
        let error = run_page_with_load(&[view()], "{\"format\": \"numalab.move/1\"}");
        assert!(error.is_err());
    }

    #[test]
    fn a_load_sweep_is_drawn_as_a_curve_and_not_ranked() {
        let mut sweep = view();
        sweep.is_curve = true;
        sweep.curves = read_bandwidth(LOADED).unwrap().ladders;
        let page = run_page(&[sweep]);
        assert!(
            page.contains("while the CPUs of the load nodes generate load"),
            "{page}"
        );
        assert!(
            !page.contains("Ranking") && !page.contains(">rank<"),
            "{page}"
        );
    }

    #[test]
    fn several_runs_have_a_table_of_contents() {
        let page = run_page(&[view(), view()]);
        assert!(page.contains("href=\"#part-1\"") && page.contains("id=\"part-1\""));
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
