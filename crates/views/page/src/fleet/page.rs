//! The page: the answer, what differs, and the matrices of all machines.

use maud::{Markup, html};
use model::{FleetComparison, FleetGroup, GroupFigure, counted};
use report::{
    Table, figure_of_metric, fleet_answer, fleet_finding_words, fleet_undecided_words, plain,
};

use super::multiples::{Matrix, legend};
use crate::documents::{Content, Top, framed, table};

/// Groups with pictures and tables of their own; the rest is counted.
const GROUPS_MAX: usize = 40;
/// Findings of one group; the rest is counted.
const FINDINGS_MAX: usize = 400;

/// Returns the page of a comparison of machines.
pub fn fleet_page(comparison: &FleetComparison) -> String {
    let top = Top {
        answer: fleet_answer(comparison) + ".",
        sureness: Some(
            "Of 20 groups of equal machines, at most one has a machine that is called odd by a \
             figure."
                .to_owned(),
        ),
        ..Top::default()
    };
    let left_out = comparison.groups.len().saturating_sub(GROUPS_MAX);
    let body = html! {
        (legend())
        @for group in comparison.groups.iter().take(GROUPS_MAX) { (section(group)) }
        @if left_out > 0 { p { (counted(left_out, "smaller group")) " not shown." } }
    };
    let content = Content { top, body };
    framed(
        "Machines that should be equal",
        "numalab.fleet-comparison/1",
        &content,
    )
}

fn section(group: &FleetGroup) -> Markup {
    let left_out = group.findings.len().saturating_sub(FINDINGS_MAX);
    let experiments = group
        .figures
        .chunk_by(|one, other| one.experiment == other.experiment);
    let undecided = fleet_undecided_words(group);
    html! {
        section {
            h2 { (plain(&group.name)) ": " (counted(group.machines.len(), "machine")) }
            @if group.findings.is_empty() && undecided.is_empty() {
                p { "No difference." }
            }
            @if !group.findings.is_empty() || !undecided.is_empty() {
                ul {
                    @for finding in group.findings.iter().take(FINDINGS_MAX) {
                        li { (fleet_finding_words(finding)) }
                    }
                    @for words in &undecided { li { (words) } }
                }
            }
            @if left_out > 0 { p { (counted(left_out, "finding")) " more not shown." } }
            @for figures in experiments { (experiment(group, figures)) }
        }
    }
}

/// The matrices of an experiment, if it has any, and its figures.
fn experiment(group: &FleetGroup, figures: &[GroupFigure]) -> Markup {
    let name = plain(&figures[0].experiment);
    let unit = figures[0].metric.facts().shown_unit;
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let row = |figure: &GroupFigure| {
        let found_from = figure.found_from;
        vec![
            plain(&figure.case),
            figure.machines.to_string(),
            figure_of_metric(figure.metric, figure.centre),
            percent(figure.spread),
            found_from.map_or("-".to_owned(), percent),
        ]
    };
    let titles = format!("case|>machines|>median, {unit}|>spread, %|>told apart from, %");
    let table_of_figures = Table::of(&titles).with(figures.iter().map(row));
    html! {
        h3 { (name) }
        @if let Some(matrix) = Matrix::of(figures) { (matrix.markup(group)) }
        (table(&format!("Figures of {name}"), &table_of_figures))
    }
}

#[cfg(test)]
mod tests {
    use model::{FleetMember, Metric};

    use super::*;

    fn group(machines: usize, nodes: u32) -> FleetGroup {
        let members = (0..machines).map(|number| FleetMember {
            host: format!("<db{number}>\u{1b}[2J"),
            ..FleetMember::default()
        });
        let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
        let figures = pairs.map(|(from, to)| GroupFigure {
            experiment: "latency".to_owned(),
            case: format!("from-{from}-to-{to}"),
            metric: Metric::NsPerAccess,
            machines: machines as u32,
            centre: 100.0,
            spread: 0.01,
            found_from: Some(0.1),
            // Every machine is unlike any other.
            values: (0..machines as u32)
                .map(|machine| {
                    let noise = (machine * 31 + from * 7 + to * 13) % 17;
                    Some(70.0 + 4.0 * f64::from(noise))
                })
                .collect(),
        });
        FleetGroup {
            name: "<model>".to_owned(),
            machines: members.collect(),
            figures: figures.collect(),
            ..FleetGroup::default()
        }
    }

    #[test]
    fn a_page_of_thousands_of_machines_stays_small_and_names_are_escaped() {
        let groups = vec![group(4_000, 2), group(300, 8), group(40, 64)];
        let page = fleet_page(&FleetComparison {
            grouped_by: "model".to_owned(),
            machines: 4_340,
            groups,
        });
        assert!(page.len() < 2 << 20, "{}", page.len());
        assert!(!page.contains("<db") && !page.contains('\u{1b}'));
        assert!(page.contains("&lt;model&gt;: 4000 machines"));
    }
}
