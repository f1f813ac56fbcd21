//! A run as text for a terminal: the question first, one verdict sentence last.

use model::{Run, RunStatus};
use verdict::{Judgement, is_emulated, judge, order};

use crate::form::plain::plain;
use crate::form::style::{Style, TextOptions};
use crate::run::bars::bars;
use crate::run::blocks;
use crate::run::calibration::work_unit;
use crate::run::case::case_text;
use crate::run::machine::machine;
use crate::run::ranking::ranking;
use crate::run::status::{ended, style};
use crate::run::windows::{TimeSpent, windows};
use crate::verdict_words::sentence::verdict_sentence;
use crate::verdict_words::warnings::run_warnings;

/// Formats the report of a run.
pub fn run_text(run: &Run, options: &TextOptions) -> String {
    let judgement = judge(run);
    let mut sections = vec![head(run, options)];
    sections.push(warnings(run, &judgement, options));
    if !run.cases.is_empty() {
        sections.push(ranking(run, &judgement, options));
    }
    if !is_emulated(run) {
        sections.push(bars(run, &judgement, options));
    }
    for index in order(run, &judgement) {
        sections.push(case_text(run, &run.cases[index], options));
    }
    sections.push(skipped(run, options));
    // On one line whatever the width, so that it can be copied as one.
    let verdict = format!("Verdict: {}", plain(&verdict_sentence(run, &judgement)));
    sections.push(format!("{}\n", options.paint(&verdict, Style::Strong)));
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

fn head(run: &Run, options: &TextOptions) -> String {
    let mut text = options.paragraph("", &run.question, Style::Strong);
    text.push('\n');
    text.push_str(&options.paragraph("machine  ", &machine(run), Style::Usual));
    text.push_str(&options.paragraph("run      ", &which_run(run), style(run.status)));
    if let Some(method) = method(run) {
        text.push_str(&options.paragraph("method   ", &method, Style::Usual));
    }
    text
}

/// Describes how a run was measured; `None` for one that was imported.
pub(crate) fn method(run: &Run) -> Option<String> {
    let mut method = windows(run, run.window_s?);
    if let Some(calibration) = &run.calibration {
        method.push_str(&format!(", {}", work_unit(calibration)));
    }
    method.push_str(&format!(", seed {}", run.seed));
    if let Some(spent) = TimeSpent::of(run) {
        method.push_str(&format!("; {}", spent.sentence()));
    }
    if let Some(left_out) = blocks::left_out(run) {
        method.push_str(&format!("; {left_out}"));
    }
    Some(method)
}

/// Says which run it is, and how it ended.
pub(crate) fn which_run(run: &Run) -> String {
    let moment = match run.status {
        RunStatus::Imported => format!("imported {}", run.started_at),
        status => format!("started {}, {}", run.started_at, ended(status)),
    };
    format!("{} of {}, {moment}", run.id, run.experiment)
}

fn warnings(run: &Run, judgement: &Judgement, options: &TextOptions) -> String {
    let warnings = run_warnings(run, judgement).into_iter();
    warnings
        .map(|warning| options.paragraph("warning: ", &warning, Style::Care))
        .collect()
}

fn skipped(run: &Run, options: &TextOptions) -> String {
    if run.skipped.is_empty() {
        return String::new();
    }
    let mut text = options.heading("Skipped");
    for skipped in &run.skipped {
        let line = format!("{}: {}", skipped.case, skipped.reason);
        text.push_str(&options.paragraph("- ", &line, Style::Usual));
    }
    text
}
