//! One case of a run as text: its request, its figures, the evidence, and lost trials.

use model::{Case, Run, Topology, Trial, counted};
use verdict::{CaseTotals, Standing};

use crate::form::plain::plain_within;
use crate::form::style::{Style, TextOptions};
use crate::run::asked::asked;
use crate::run::evidence::evidence_lines;
use crate::run::figures::{unit, value};
use crate::run::load_profile::{load_profile, top_events};
use crate::run::reports::report_lines;

/// Maximum width of a case's name in its heading, in columns.
const NAME_COLUMNS: usize = 200;
/// Maximum number of values shown; the document has all of them.
const VALUES_SHOWN: usize = 20;
/// Maximum number of reasons and warnings shown; the rest are counted.
const REASONS_SHOWN: usize = 5;

/// Formats the section of a case.
pub(crate) fn case_text(run: &Run, case: &Case, options: &TextOptions) -> String {
    let topology = run.machine.as_ref().map(|machine| &machine.topology);
    let plan = &case.plan;
    let mut text = options.heading(&plain_within(&plan.name, NAME_COLUMNS));
    if !plan.about.is_empty() {
        text.push_str(&options.paragraph("  ", &plan.about, Style::Usual));
    }
    text.push_str(&options.paragraph("  asked: ", &asked(plan), Style::Usual));
    if let Some(values) = values(run, case) {
        text.push_str(&options.paragraph("  trials: ", &values, Style::Usual));
    }
    let totals = CaseTotals::of(case);
    if totals.trials > 0 {
        text.push('\n');
        text.push_str(&load_profile(&totals));
        text.push('\n');
        text.push_str(&top_events(&totals));
    }
    match topology {
        Some(topology) => text.push_str(&evidence(case, topology, options)),
        None => text.push_str(&list("Reports", &report_lines(case), Style::Usual, options)),
    }
    text.push_str(&lost(case, options));
    text.push_str(&remarks(case, options));
    text
}

/// Returns the values of the valid trials, in the order in which they ran.
fn values(run: &Run, case: &Case) -> Option<String> {
    let values: Vec<f64> = case.trials.iter().filter_map(Trial::valid_value).collect();
    let shown = values.iter().take(VALUES_SHOWN);
    let shown: Vec<String> = shown.map(|it| value(run.metric, *it)).collect();
    let more = match values.len().saturating_sub(VALUES_SHOWN) {
        0 => String::new(),
        hidden => format!(" and {hidden} more"),
    };
    let (shown, unit) = (shown.join(" "), unit(run));
    (!values.is_empty()).then(|| format!("{shown}{more} {unit}"))
}

fn evidence(case: &Case, topology: &Topology, options: &TextOptions) -> String {
    let of = |valid: bool| {
        let trials = case.trials.iter();
        let trials = trials.filter(|trial| Standing::of(trial).is_valid() == valid);
        trials.collect::<Vec<&Trial>>()
    };
    let (title, trials) = match (of(true), of(false)) {
        (valid, _) if !valid.is_empty() => ("Evidence", valid),
        (_, lost) if !lost.is_empty() => ("Evidence, of trials that do not count", lost),
        _ => return String::new(),
    };
    let lines = evidence_lines(&trials, topology);
    list(title, &lines, Style::Usual, options)
}

/// Lists the trials that do not count, with their reasons.
fn lost(case: &Case, options: &TextOptions) -> String {
    let lost = case.trials.iter().filter_map(|trial| {
        let standing = Standing::of(trial);
        let reason = standing.reason()?;
        Some(format!(
            "round {}: {}: {reason}",
            trial.round,
            standing.word()
        ))
    });
    let lines: Vec<String> = lost.collect();
    list("Trials that do not count", &lines, Style::Bad, options)
}

/// Lists the warnings of the valid trials, each once.
fn remarks(case: &Case, options: &TextOptions) -> String {
    let mut found: Vec<(&str, usize)> = Vec::new();
    let valid = case.trials.iter();
    let valid = valid.filter(|trial| Standing::of(trial).is_valid());
    for warning in valid.flat_map(|trial| &trial.warnings) {
        match found.iter_mut().find(|(known, _)| known == warning) {
            Some((_, times)) => *times += 1,
            None => found.push((warning, 1)),
        }
    }
    let lines: Vec<String> = found
        .into_iter()
        .map(|(warning, times)| format!("in {}: {warning}", counted(times, "trial")))
        .collect();
    list("Remarks", &lines, Style::Care, options)
}

fn list(title: &str, lines: &[String], style: Style, options: &TextOptions) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{title}\n");
    let shown = match lines.len() {
        count if count > 2 * REASONS_SHOWN => REASONS_SHOWN,
        count => count,
    };
    for line in &lines[..shown] {
        text.push_str(&options.paragraph("- ", line, style));
    }
    if lines.len() > shown {
        text.push_str(&format!("and {} more\n", lines.len() - shown));
    }
    text
}
