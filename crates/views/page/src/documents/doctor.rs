//! The page of `numalab.doctor/1`.

use maud::{Markup, html};
use model::{CurePlan, Diagnosis, MemoryFigures, counted};
use report::{Fields, Table, cpus_of_plan, gain_of_plan};
use serde::Deserialize;

use super::error::Error;
use super::findings::findings;
use super::frame::Content;
use super::guard::fields;
use super::table::{cut, table};
use super::top::Top;

/// Maximum number of lines of a step.
const LINES_MAX: usize = 40;

/// The fields that `report` writes.
#[derive(Debug, Deserialize)]
pub(crate) struct DoctorAnswer {
    #[serde(default)]
    target: Option<String>,
    #[serde(flatten)]
    diagnosis: Diagnosis,
}

/// Reads a document.
pub(crate) fn read_doctor(text: &str) -> Result<DoctorAnswer, Error> {
    fields(text, report::DoctorAnswer::FORMAT)
}

/// Returns the page's content.
pub(crate) fn doctor_content(answer: &DoctorAnswer) -> Content {
    let Diagnosis {
        coverage,
        findings: found,
        plan,
        ..
    } = &answer.diagnosis;
    let not_seen = coverage.not_seen.iter().map(|(what, count)| {
        format!(
            "not looked at, for lack of {what}: {}",
            counted(*count, "check")
        )
    });
    let worst = found.iter().max_by_key(|finding| finding.severity);
    let words = match worst {
        None => "No problems found".to_owned(),
        Some(worst) => format!(
            "{}, the most severe {} ({}),",
            counted(found.len(), "finding"),
            worst.id,
            worst.severity.name()
        ),
    };
    let top = Top {
        answer: format!("{words} in {}.", counted(coverage.looked_for, "check")),
        target: answer.target.clone(),
        warnings: not_seen.collect(),
        ..Top::default()
    };
    let body = html! {
        (findings(found))
        @if let Some(plan) = plan { (plan_content(plan)) }
    };
    Content { top, body }
}

/// The plan: what it gives, and its steps.
fn plan_content(plan: &CurePlan) -> Markup {
    let steps = [
        ("Now", &plan.now),
        ("Undo", &plan.undo),
        ("For good", &plan.for_good),
        ("Verify", &plan.verify),
    ];
    let rows = [row("now", &plan.before), row("then", &plan.after)];
    let other = plan.runner_up.iter();
    let other = other.map(|it| row(&format!("with {} instead", it.cure), &it.after));
    let memory = Table::of(TITLES).with(rows.into_iter().chain(other));
    html! {
        h2 { "Plan: " (cut(&plan.cure)) }
        (table("Where its memory lies", &memory))
        p.muted {
            "If every byte is used alike; distances "
            @match &plan.distances_by {
                Some(by) => { "measured by " (cut(by)) }
                None => "by the firmware",
            }
            ", 1 is local."
        }
        @if let Some(cpus) = cpus_of_plan(plan) { p.muted { (cut(&cpus)) "." } }
        p { "Gain: " (gain_of_plan(plan)) "." }
        @for why in &plan.no_room { p { "No room: " (cut(why)) "." } }
        @for (name, lines) in steps {
            @if !lines.is_empty() {
                h3 { (name) }
                pre { @for line in lines.iter().take(LINES_MAX) { (cut(line)) "\n" } }
            }
        }
        @for left in &plan.leaves { p { "It leaves " (cut(left)) "." } }
    }
}

const TITLES: &str = "|>remote accesses|>distance of an access|>on the fullest node";

fn row(name: &str, figures: &MemoryFigures) -> Vec<String> {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    vec![
        name.to_owned(),
        percent(figures.remote_share),
        format!("{:.1}", figures.relative_access),
        percent(figures.fullest_share),
    ]
}
