//! The output of `run` and `show` fits a screen of 40 lines and 80 columns; `--full` has the rest.
//!
//! Tests of report.

use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::Laboratory;
use crate::terminal::{on_a_terminal, shown, without_escapes};

const LINES: usize = 40;
const COLUMNS: usize = 80;

/// Writes an experiment with cases that run quickly, and four that cannot run, three of them for
/// the same reason.
fn experiment(laboratory: &Laboratory, cases: u32) -> String {
    let number = "[load]\nwork = \"command\"\nunit = \"MB/s\"";
    let mut experiment = ExperimentFile::new("case-0", number);
    for index in 0..cases {
        // Figures that differ from round to round, and from case to case.
        let print = format!("echo $(({} + $$ % 50))", 1000 + 40 * index);
        let keys = format!("command = \"{print}\"");
        experiment = experiment.case(&format!("case-{index}"), &keys);
    }
    for name in ["gone-1", "gone-2", "gone-3"] {
        experiment = experiment.case(name, "command = \"echo 1\"\ncpus = \"4000\"");
    }
    let elsewhere = "command = \"echo 1\"\nmemory-nodes = \"900\"";
    let experiment = experiment.case("elsewhere", elsewhere);
    laboratory.file("many.toml", experiment.text())
}

/// Asserts that lines fit the screen; every character in them is one column wide.
#[track_caller]
fn fits(lines: &[String]) {
    let text = lines.join("\n");
    assert!(lines.len() <= LINES, "{} lines:\n{text}", lines.len());
    for line in lines {
        assert!(line.chars().count() <= COLUMNS, "{line}\n{text}");
    }
}

/// The lines of an output without the warnings about other processes: those of other tests.
fn lines(text: &str) -> Vec<String> {
    let is_of_others = |part: &&str| part.starts_with("warning: measured with --anyway: ");
    let (others, parts): (Vec<_>, Vec<_>) = text.split("\n\n").partition(is_of_others);
    let has_only_these =
        |part: &&str| part.matches("warning: ").count() == part.matches("--anyway: ").count();
    assert!(others.iter().all(has_only_these), "{text}");
    parts.join("\n\n").lines().map(str::to_owned).collect()
}

/// Asserts that a screen has its parts in order, and nothing that `--full` adds.
#[track_caller]
fn has_its_parts(lines: &[String]) {
    let text = lines.join("\n");
    let mut rest = text.as_str();
    for part in [
        "Does it matter?",
        "machine  ",
        "rank  case",
        "┃ median",
        "Verdict: ",
        "Not run",
        "gone-1, gone-2, gone-3",
        "Next",
    ] {
        let at = rest.find(part);
        let at = at.unwrap_or_else(|| panic!("no {part:?} in:\n{text}"));
        rest = &rest[at..];
    }
    let commands = rest.lines().filter(|it| it.starts_with("  numalab "));
    assert_eq!(commands.count(), 3, "{text}");
    assert!(rest.contains("  numalab show last --full"), "{text}");
    let reasons = text.lines().filter(|line| line.contains("4000"));
    assert_eq!(reasons.count(), 1, "one line for one reason:\n{text}");
    for part in ["asked:", "trials:", "Evidence"] {
        assert!(!text.contains(part), "{text}");
    }
}

#[test]
fn a_run_of_many_cases_fits_a_screen_and_full_has_the_rest() {
    let laboratory = Laboratory::new();
    let path = experiment(&laboratory, 9);
    let run = laboratory
        .run(&["run", &path, "--trials", "5"])
        .with_code(0);
    let said = lines(&run.stderr);
    // What is measured, that windows do not alternate, and the first number that was read.
    assert!(said.len() <= 3, "{said:?}");
    let screen = lines(&run.stdout);
    has_its_parts(&screen);
    fits(&[said, screen].concat());
    let shown = lines(&laboratory.run(&["show"]).with_code(0).stdout);
    has_its_parts(&shown);
    fits(&shown);

    let words = ["show", "last", "--full"];
    let full = laboratory.run(&words).with_code(0).stdout;
    for part in [
        "asked:",
        "trials:",
        "Evidence",
        "Skipped",
        "Verdict: ",
        "Next",
    ] {
        assert!(full.contains(part), "no {part:?} in:\n{full}");
    }
    assert!(full.lines().count() > 2 * LINES, "{full}");
    let words = ["run", &path, "--within", "1", "--full"];
    let full = laboratory.run(&words).with_code(0).stdout;
    assert!(full.contains("Evidence"), "{full}");
    laboratory.run(&["show", "--full", "--json"]).with_code(2);
    laboratory.nothing_is_left();
}

#[test]
fn a_terminal_shows_the_progress_in_one_line_and_then_the_screen() {
    const NAME: &str = "a_terminal_shows_the_progress_in_one_line_and_then_the_screen";
    let mut laboratory = Laboratory::new();
    let path = experiment(&laboratory, 3);
    if on_a_terminal(&mut laboratory, NAME).is_none() {
        return;
    }
    let run = laboratory
        .run(&["run", &path, "--trials", "7"])
        .with_code(0);
    let written = run.stdout;
    fits(&shown(&written));
    let is_progress = |it: &&String| it.starts_with("round ");
    let states = written.split(['\r', '\n']).map(without_escapes);
    let states: Vec<String> = states.collect();
    let states: Vec<&String> = states.iter().filter(is_progress).collect();
    assert!(states.len() >= 5, "{written:?}");
    for state in &states {
        assert!(state.contains(" of at most 7, "), "{state}");
        assert!(state.contains(" left; case-"), "{state}");
        assert!(state.trim_end().chars().count() < COLUMNS, "{state}");
    }
    // From the fifth round on, progress shows the leading comparison with its interval.
    let leads = |it: &&&String| it.contains(" to ") && it.trim_end().ends_with(')');
    assert!(states.iter().filter(leads).count() > 0, "{states:?}");
    // The progress line is redrawn in place, and gone in the end.
    let left = shown(&written).into_iter().filter(|it| is_progress(&it));
    assert_eq!(left.count(), 0, "{written:?}");
    laboratory.no_process_or_memory_is_left();
}

/// Without a terminal, only messages are written.
#[test]
fn without_a_terminal_no_progress_is_written() {
    let laboratory = Laboratory::new();
    // A fixed work unit skips the calibration, so that the first trial is made in time.
    let experiment = ExperimentFile::new("one", SMALL).case("one", "work-unit = 16");
    let path = laboratory.file("one.toml", experiment.text());
    let words = ["run", &path, "--seconds", "0.2", "--within", "2"];
    let run = laboratory.run_until_a_trial_counts(&words).with_code(0);
    assert!(!run.stderr.contains("round "), "{}", run.stderr);
    let full = laboratory.run(&["show", "--full"]).with_code(0).stdout;
    for part in ["Load Profile", "Top Events"] {
        assert!(full.contains(part), "{full}");
        assert!(!run.stdout.contains(part), "{}", run.stdout);
    }
    laboratory.nothing_is_left();
}
