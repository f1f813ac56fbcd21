//! The help says what a command does and what question it answers, then the options, then one
//! example.
//!
//! Tests of numalab.

use model::exit::ExitCode;

use crate::laboratory::Laboratory;

/// Returns the names of the commands in the help, which lists all but the hidden ones
/// (`src/help_tests.rs`).
fn commands(laboratory: &Laboratory) -> Vec<String> {
    let help = laboratory.run(&["--help"]).with_code(0).stdout;
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    // A line with a deeper indentation continues the line before.
    let names = lines.filter_map(|line| line.strip_prefix("  ").filter(|it| !it.starts_with(' ')));
    let names: Vec<String> = names
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect();
    assert!(!names.is_empty(), "{help}");
    names
}

#[test]
fn the_help_names_every_exit_code_and_no_command_of_ours_alone() {
    let laboratory = Laboratory::new();
    let help = laboratory.run(&["--help"]).with_code(0).stdout;
    assert!(!help.contains("internal-"), "{help}");
    let (_, listed) = help.split_once("Exit codes:\n").unwrap();
    for (_, number, meaning) in ExitCode::TABLE {
        let line = format!("{number:>5}  {meaning}\n");
        assert!(listed.contains(&line), "{line:?} is not in {listed}");
    }
}

#[test]
fn the_help_of_each_command_has_its_question_its_options_and_an_example() {
    let laboratory = Laboratory::new();
    for name in commands(&laboratory) {
        let help = laboratory.run(&[&name, "--help"]).with_code(0).stdout;
        let (question, rest) = help.split_once("Usage: numalab ").unwrap();
        // What `capture` writes answers questions elsewhere.
        let asks = question.contains('?') || name == "capture";
        assert!(asks, "{name} has no question: {question}");
        let (options, example) = rest.split_once("\nExample: ").unwrap();
        assert!(options.contains("Options:\n"), "{help}");
        assert_eq!(example.trim().lines().count(), 1, "{name}: {example}");
        let mut words = example.trim().split(' ');
        assert_eq!(words.next(), Some("numalab"));
        assert_eq!(words.next(), Some(name.as_str()));
        // What follows is of the program that numalab starts.
        let own = words.take_while(|word| *word != "--");
        for option in own.filter(|word| word.starts_with('-')) {
            assert!(options.contains(option), "{name} has no {option}");
        }
        let short = laboratory.run(&[&name, "-h"]).with_code(0).stdout;
        assert!(short.contains("Example: numalab "), "{short}");
    }
}

#[test]
fn without_a_command_the_help_is_shown_as_talk() {
    let laboratory = Laboratory::new();
    let finished = laboratory.run(&[]).with_code(2);
    finished.says(&["Usage: numalab <COMMAND>"]);
    assert_eq!(finished.stdout, "");
    let version = laboratory.run(&["--version"]).with_code(0).stdout;
    assert_eq!(version, format!("numalab {}\n", env!("CARGO_PKG_VERSION")));
}
