//! Output that fits one screen: runs with their question, machine, ranking and verdict, then
//! warnings, what could not run, and what to do next. `--full` shows the rest.
//!
//! A screen counts its lines, so that it stays one screen with any number of runs and warnings.

use model::{LatencyResult, Run};
use verdict::{Judgement, judge};

use crate::form::plain::plain;
use crate::form::style::{Style, TextOptions, cut, lines};
use crate::memory::latency_figures::ns_range;
use crate::memory::latency_text::latency_text;
use crate::run::machine::machine_within;
use crate::run::status::ended;
use crate::run::text::run_text;
use crate::screen::next::{Called, Next};
use crate::screen::not_run::{NotRun, not_run_lines};
use crate::screen::ranking::{ROWS_MAX, Ranking};
use crate::screen::warnings::{Warnings, warning_lines};
use crate::verdict_words::sentence::verdict_sentence;
use crate::verdict_words::too_few::had_no_time;

/// Maximum number of lines of a screen.
pub const SCREEN_LINES: usize = 40;
/// Lines reserved for what follows the runs: what could not run, and what to do next.
const END_LINES: usize = 10;
/// Lines of these for what to do next.
const NEXT_LINES: usize = 5;
/// Maximum number of lines of a question.
const QUESTION_LINES: usize = 2;
/// Maximum number of warnings and notes shown.
const WARNINGS: usize = 3;
/// Maximum number of lines of a verdict.
const VERDICT_LINES: usize = 8;
/// Width of the labels of facts, in columns.
const LABEL: usize = 9;

/// A screen under construction, part by part.
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
    /// Creates an empty screen.
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

    /// Creates a screen without a limit on lines, for the full report.
    pub fn full(options: TextOptions) -> Self {
        Screen {
            is_full: true,
            lines_left: usize::MAX,
            ..Self::new(options)
        }
    }

    /// Returns the memory latencies of the machine of `run`, in one line unless full.
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

    /// Returns the text of a run; `called` is the name under which the user knows it.
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
        let late = late.map(|case| NotRun::new(&case.name, "not enough time for 5 trials"));
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
            &verdict_sentence(run, judgement),
            Style::Strong,
            VERDICT_LINES,
        );
        if head.len() + 1 + verdict.len() > room {
            return self.in_a_line(run, judgement);
        }
        // Besides the rows: an empty line, two lines of titles, the legend, and an empty line.
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

    /// Returns only the verdict, truncated to one line, for lack of room; nothing if the end of the
    /// screen needs the lines.
    fn in_a_line(&self, run: &Run, judgement: &Judgement) -> Vec<String> {
        if self.lines_left < NEXT_LINES + 2 {
            return Vec::new();
        }
        let said = format!("{}: {}", run.experiment, verdict_sentence(run, judgement));
        vec![String::new(), self.fact("run", &said)]
    }

    /// Returns the machine, the first time only.
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

    /// Returns the end of the screen: `notes`, what could not run including `left_out`, and what to
    /// do next.
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
        // Each part gets half of the room, plus what the other does not use.
        let wanted = warnings(usize::MAX).len();
        let not_run = not_run_lines(&self.not_run, &self.options, usize::MAX).len();
        let for_not_run = not_run.min(room.saturating_sub(wanted).max(room / 2));
        let mut lines = warnings(room - for_not_run);
        let room = room - lines.len();
        lines.extend(not_run_lines(&self.not_run, &self.options, room));
        lines.extend(next);
        // A full report already ends with an empty line.
        let lines = lines.split_off(usize::from(self.is_full));
        self.shown(lines)
    }

    /// Formats a padded label and a fact on one line.
    fn fact(&self, label: &str, fact: &str) -> String {
        let room = self.options.columns().saturating_sub(LABEL);
        format!("{label:<LABEL$}{}", cut(&plain(fact), room))
    }

    /// Joins lines for output, and counts them.
    fn shown(&mut self, lines: Vec<String>) -> String {
        self.lines_left = self.lines_left.saturating_sub(lines.len());
        lines
            .iter()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect()
    }
}

/// Returns `20261121-195502-963 of binding-vs-caging, stopped at its trial or time limit`. The id
/// holds the time.
fn run_line(run: &Run) -> String {
    let ended = ended(run.status);
    format!("{} of {}, {ended}", run.id, run.experiment)
}

/// Returns the latency of the local node and of the others.
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
            format!("latency {own} ns local, {others} ns remote")
        }
        (Some(own), None) => format!("latency {own} ns"),
        (None, Some(others)) => format!("latency {others} ns, remote only"),
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
        let expected = "latency 53.0 to 59.0 ns local, 211 to 248 ns remote";
        assert_eq!(shown.as_deref(), Some(expected));
        assert_eq!(line(vec![]), None);
    }
}
