//! What fits a screen: runs with their question, machine, ranking and verdict, then what a reader
//! must know, what could not run, and what to do next. `--full` shows the rest.
//!
//! A screen counts its lines, so that it is one however many runs and warnings there are.

use model::{LatencyResult, Run, RunStatus};

use crate::judgement::{Judgement, judge};
use crate::latency_figures::ns_range;
use crate::latency_text::latency_text;
use crate::run_machine::machine_within;
use crate::run_plain::plain;
use crate::run_style::{Style, TextOptions};
use crate::run_text::run_text;
use crate::screen_lines::{cut, lines};
use crate::screen_next::{Called, Next};
use crate::screen_not_run::{NotRun, not_run_lines};
use crate::screen_ranking::{ROWS_MAX, Ranking};
use crate::screen_warnings::{Warnings, warning_lines};
use crate::verdict_too_few::had_no_time;

/// Lines of a screen at most.
pub const SCREEN_LINES: usize = 40;
/// Lines that are kept for what comes after the runs: what could not run, and what to do next.
const END_LINES: usize = 10;
/// Lines that what to do next takes of them.
const NEXT_LINES: usize = 5;
/// Lines that a question may take.
const QUESTION_LINES: usize = 2;
/// Warnings and notes that are shown.
const WARNINGS: usize = 3;
/// Lines that a verdict may take.
const VERDICT_LINES: usize = 8;
/// Names of facts, and the column that facts begin in.
const LABEL: usize = 9;

/// A screen that is being written, part by part.
#[derive(Debug)]
pub struct Screen {
    options: TextOptions,
    is_full: bool,
    lines_left: usize,
    machine_is_shown: bool,
    warnings: Warnings,
    not_run: Vec<NotRun>,
    next: Next,
}

impl Screen {
    /// An empty screen.
    pub fn new(options: TextOptions) -> Self {
        Screen {
            options,
            is_full: false,
            lines_left: SCREEN_LINES,
            machine_is_shown: false,
            warnings: Warnings::default(),
            not_run: Vec::new(),
            next: Next::default(),
        }
    }

    /// As much as there is to say, however many lines that takes.
    pub fn full(options: TextOptions) -> Self {
        Screen {
            is_full: true,
            lines_left: usize::MAX,
            ..Self::new(options)
        }
    }

    /// How far memory is on the machine of `run`, in a line.
    pub fn latency(&mut self, run: &Run, result: &LatencyResult) -> String {
        if self.is_full {
            return latency_text(result, &self.options) + "\n";
        }
        let Some(said) = latency_line(result) else {
            return String::new();
        };
        for finding in &result.findings {
            self.warnings.add(&finding.message);
        }
        if !result.findings.is_empty() {
            self.next.look_at_latency();
        }
        let mut lines = self.machine(run);
        lines.push(self.fact("memory", &said));
        self.shown(lines)
    }

    /// A run, and `called`, what the person at the terminal would call it.
    pub fn run(&mut self, run: &Run, called: &Called) -> String {
        let judgement = judge(run);
        self.next.add(run, &judgement, called);
        let skipped = run.skipped.iter();
        let not_run = skipped.map(|it| NotRun::new(&it.case, &it.reason));
        if self.is_full {
            self.next.cannot_run(run.skipped.len());
            return run_text(run, &self.options) + "\n";
        }
        self.not_run.extend(not_run);
        let late = judgement.cases.iter();
        let late = late.filter(|case| had_no_time(run, &judgement.cases, case));
        let late = late.map(|case| NotRun::new(&case.name, "no time left for 5 trials of it"));
        self.not_run.extend(late);
        self.warnings.add_of(run, &judgement);
        let room = self.lines_left.saturating_sub(END_LINES);
        let lines = self.run_lines(run, &judgement, room);
        self.shown(lines)
    }

    fn run_lines(&mut self, run: &Run, judgement: &Judgement, room: usize) -> Vec<String> {
        let mut head = Vec::new();
        if self.lines_left < SCREEN_LINES {
            head.push(String::new());
        }
        head.extend(self.question(run));
        if !self.machine_is_shown {
            head.push(String::new());
        }
        head.extend(self.machine(run));
        head.push(self.fact("run", &run_line(run)));
        let verdict = lines(
            &self.options,
            "Verdict: ",
            &judgement.verdict,
            Style::Strong,
            VERDICT_LINES,
        );
        if head.len() + 1 + verdict.len() > room {
            return self.in_a_line(run, judgement);
        }
        // Beside the rows: an empty line, two of titles, the legend, and an empty line.
        let rows = room.saturating_sub(head.len() + verdict.len() + 6);
        if !run.cases.is_empty() && rows > 0 {
            let ranking = Ranking::of(run, judgement, &self.options);
            head.push(String::new());
            head.extend(ranking.lines(rows.min(ROWS_MAX)));
        }
        head.push(String::new());
        head.extend(verdict);
        head
    }

    /// Where there is no room: the verdict alone, as far as it goes, while what comes at the end
    /// has its lines.
    fn in_a_line(&self, run: &Run, judgement: &Judgement) -> Vec<String> {
        if self.lines_left < NEXT_LINES + 2 {
            return Vec::new();
        }
        let said = format!("{}: {}", run.experiment, judgement.verdict);
        vec![String::new(), self.fact("run", &said)]
    }

    /// The machine, once.
    fn machine(&mut self, run: &Run) -> Vec<String> {
        if self.machine_is_shown {
            return Vec::new();
        }
        self.machine_is_shown = true;
        let columns = self.options.columns().saturating_sub(LABEL);
        vec![self.fact("machine", &machine_within(run, columns))]
    }

    fn question(&self, run: &Run) -> Vec<String> {
        let question = match run.question.trim() {
            "" => &run.experiment,
            question => question,
        };
        lines(&self.options, "", question, Style::Strong, QUESTION_LINES)
    }

    /// The end: what `notes` say, what could not run, `left_out` with it, and what to do next.
    pub fn end(&mut self, notes: &[String], left_out: &[NotRun]) -> String {
        for note in notes {
            self.warnings.add_note(note);
        }
        self.not_run.extend_from_slice(left_out);
        self.next.cannot_run(self.not_run.len());
        let next = self.next.lines(&self.options);
        let room = self.lines_left.saturating_sub(next.len());
        let warnings = |room| match self.is_full {
            true => warning_lines(&self.warnings, &self.options, usize::MAX, room),
            false => warning_lines(&self.warnings, &self.options, WARNINGS, room),
        };
        // Each has half of the room, and what the other leaves.
        let wanted = warnings(usize::MAX).len();
        let not_run = not_run_lines(&self.not_run, &self.options, usize::MAX).len();
        let for_not_run = not_run.min(room.saturating_sub(wanted).max(room / 2));
        let mut lines = warnings(room - for_not_run);
        let room = room - lines.len();
        lines.extend(not_run_lines(&self.not_run, &self.options, room));
        lines.extend(next);
        // A text in full ends with an empty line already.
        let lines = lines.split_off(usize::from(self.is_full));
        self.shown(lines)
    }

    /// `label    fact`, in a line.
    fn fact(&self, label: &str, fact: &str) -> String {
        let room = self.options.columns().saturating_sub(LABEL);
        format!("{label:<LABEL$}{}", cut(&plain(fact), room))
    }

    /// Lines as they are printed, and counted.
    fn shown(&mut self, lines: Vec<String>) -> String {
        self.lines_left = self.lines_left.saturating_sub(lines.len());
        lines
            .iter()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect()
    }
}

/// `20261121-195502-963 of binding-vs-caging, stopped at its limit`. The id says when.
fn run_line(run: &Run) -> String {
    let ended = match run.status {
        RunStatus::Unfinished => "not ended",
        RunStatus::Settled => "until intervals were narrow",
        RunStatus::Bounded => "stopped at its limit",
        RunStatus::Interrupted => "interrupted",
        RunStatus::Failed => "failed",
        RunStatus::Imported => "imported",
    };
    format!("{} of {}, {ended}", run.id, run.experiment)
}

/// The latency of the own node and of the others.
fn latency_line(result: &LatencyResult) -> Option<String> {
    let range = |own: bool| {
        let classes = result.hop_classes.iter();
        let classes = classes.filter(|class| class.memory_nodes.contains(class.cpu_node) == own);
        let range = classes.fold(None, |range: Option<(f64, f64)>, class| {
            let (low, high) = range.unwrap_or((class.ns_min, class.ns_max));
            Some((low.min(class.ns_min), high.max(class.ns_max)))
        });
        range.map(|(low, high)| ns_range(low, high))
    };
    let said = match (range(true), range(false)) {
        (Some(own), Some(others)) => {
            format!("latency {own} ns on the own node, {others} ns on others")
        }
        (Some(own), None) => format!("latency {own} ns"),
        (None, Some(others)) => format!("latency {others} ns, none of it on the own node"),
        (None, None) => return None,
    };
    Some(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{HopClass, NodeId};

    #[test]
    fn the_latency_of_a_machine_is_one_line() {
        let class = |cpu: u32, class: u32, nodes: &str, ns: f64| HopClass {
            cpu_node: NodeId(cpu),
            class,
            memory_nodes: nodes.parse().unwrap(),
            ns_min: ns,
            ns,
            ns_max: ns + 6.0,
            distances: vec![],
        };
        let line = |hop_classes| {
            latency_line(&LatencyResult {
                hop_classes,
                ..LatencyResult::default()
            })
        };
        let shown = line(vec![class(0, 0, "0", 156.0)]);
        assert_eq!(shown.as_deref(), Some("latency 156 to 162 ns"));
        let shown = line(vec![
            class(0, 0, "0", 53.0),
            class(0, 1, "1-2", 211.0),
            class(0, 2, "3", 242.0),
        ]);
        let expected = "latency 53.0 to 59.0 ns on the own node, 211 to 248 ns on others";
        assert_eq!(shown.as_deref(), Some(expected));
        assert_eq!(line(vec![]), None);
    }
}
