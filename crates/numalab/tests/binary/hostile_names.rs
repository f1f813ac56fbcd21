//! Processes and files can have any name. Their names reach the terminal only as printable
//! characters, and no name adds a line to the output.
//!
//! Tests of residency, live.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::finished::Finished;
use crate::laboratory::Laboratory;
use crate::running::Running;
use crate::unmet_need::has_groups;

/// Clears the screen, starts a line, clears the screen again (C1), and switches to right-to-left.
/// The kernel keeps 15 bytes of it as the name of the process.
const NAME: &str = "x\u{1b}[2J\nFORGED\u{9b}2J\u{202e}";

/// Starts a program of that name, which sleeps.
fn sleeping(program: &str) -> Running {
    Running::of(Command::new(program).arg0("sleep").arg("600"))
}

/// Returns a laboratory with a program of that name, which sleeps.
fn with_program() -> (Laboratory, String) {
    let laboratory = Laboratory::new();
    let sleep = std::fs::read("/bin/sleep").unwrap();
    let program = laboratory.file(NAME, sleep);
    crate::user::open_to_all(program.as_ref());
    (laboratory, program)
}

/// Asserts that its output can only show characters on a terminal.
#[track_caller]
fn shows_letters(finished: Finished) -> Finished {
    for text in [&finished.stdout, &finished.stderr] {
        let is_direction =
            |it: char| matches!(it, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}');
        let is_harmful = |it: &char| (it.is_control() && *it != '\n') || is_direction(*it);
        assert_eq!(text.chars().find(is_harmful), None, "{text}");
        assert!(!text.lines().any(|it| it.starts_with("FORGED")), "{text}");
    }
    finished
}

#[test]
fn no_name_of_a_process_does_anything_to_a_terminal() {
    let (laboratory, program) = with_program();
    let sleeper = sleeping(&program);
    let pid = sleeper.pid();
    let looked = shows_letters(laboratory.run(&["inspect", &pid]).with_code(0));
    assert!(looked.stdout.contains("x\\u{1b}[2J"), "{}", looked.stdout);
    let document = shows_letters(laboratory.run(&["inspect", &pid, "--json"])).document();
    let name = document["processes"][0]["name"].as_str().unwrap();
    assert!(name.starts_with("x\u{1b}[2J\\nFORGED"), "{name:?}");
    shows_letters(laboratory.run(&["doctor", &pid]));
    shows_letters(laboratory.run(&["doctor", &pid, "--json"]));
    shows_letters(laboratory.run(&["move", &pid, "--to", "0", "--dry-run"]));
    shows_letters(laboratory.run(&["bind", "--verify", "-N", "0", "--", &program, "0.1"]));
}

#[test]
fn no_name_of_a_file_does_anything_to_a_terminal() {
    let (laboratory, program) = with_program();
    // Create a store, in which no run has that name.
    let report = laboratory.file("report.txt", testing::reports::ARTICLE_001[0]);
    laboratory.run(&["import", "awr", &report]).with_code(0);
    // Used as an experiment, a matrix, an archive, a report or a data directory, the file is of
    // another kind and refused by name.
    for words in [
        &["run", &program][..],
        &["latency", "--from", &program],
        &["topology", "--root", &program],
        &["inspect", NAME, "--root", &program],
        &["import", "awr", &program],
        &["inspect", &format!("postgres:{program}")],
        &["inspect", NAME],
        &["bind", "--", &format!("{program}/x")],
        &["show", NAME],
    ] {
        let refused = shows_letters(laboratory.run(words));
        assert_ne!(refused.status.code(), Some(0), "{words:?}");
        assert!(
            refused.stderr.contains("x\\u{1b}[2J"),
            "{words:?}: {}",
            refused.stderr
        );
    }
}

#[test]
fn no_name_of_a_member_does_anything_to_a_terminal() {
    if !has_groups("no_name_of_a_member_does_anything_to_a_terminal") {
        return;
    }
    let (laboratory, program) = with_program();
    let sleeper = sleeping(&program);
    let (name, pid) = (format!("hostile{}", sleeper.pid()), sleeper.pid());
    laboratory
        .run(&["group", "create", &name, "-N", "0", "-m", "0"])
        .with_code(0);
    shows_letters(laboratory.run(&["group", "add", &name, &pid]));
    let listed = shows_letters(laboratory.run(&["group", "list"]).with_code(0));
    assert!(listed.stdout.contains("x\\u{1b}[2J"), "{}", listed.stdout);
    // The group has a member, which the error names.
    let refused = shows_letters(laboratory.run(&["group", "delete", &name]));
    assert!(refused.stderr.contains("\\u{1b}"), "{}", refused.stderr);
    drop(sleeper);
    laboratory.run(&["group", "delete", &name]).with_code(0);
    laboratory.nothing_is_left();
}

/// A shell puts such names on the command line by itself (`*.html`).
#[test]
fn no_word_of_the_command_line_does_anything_to_a_terminal() {
    let laboratory = Laboratory::new();
    for words in [
        &["import", "awr", "--no-such-option", NAME][..],
        &["import", "awr", "a.html", &format!("--{NAME}")],
        &[NAME],
        &["undo", NAME],
        &["undo", "--list", NAME],
        &["bind", "--after", NAME, "--", "true"],
        &["move", "1", "--to", NAME],
        &["run", "--seconds", NAME],
        &["latency", "--from", "x", NAME, "--curve", NAME],
    ] {
        let refused = shows_letters(laboratory.run(words).with_code(2));
        assert_eq!(refused.stdout, "");
        assert!(
            refused.stderr.starts_with("numalab: "),
            "{}",
            refused.stderr
        );
    }
    let refused = laboratory.run(&["undo", NAME]).with_code(2);
    refused.says(&[
        "invalid value 'x\\u{1b}[2J\\u{a}FORGED\\u{9b}2J\\u{202e}'",
        "--help",
    ]);
    let help = laboratory.run(&["undo", "--help"]).with_code(0);
    assert!(
        help.stdout.starts_with("Undo what numalab changed"),
        "{}",
        help.stdout
    );
    assert_eq!(help.stderr, "");
}
