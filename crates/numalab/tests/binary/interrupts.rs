//! Ctrl-C, SIGTERM and SIGHUP: finished trials are kept, everything else is undone.
//!
//! Tests of experiment, journal.

use rustix::process::Signal;
use serde_json::Value;

use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::processes::Role;

/// Returns an experiment that takes a long time; it creates groups where that is possible.
fn long_experiment(laboratory: &Laboratory) -> String {
    let experiment = ExperimentFile::new("one", SMALL)
        .case("one", "cpus = \"all:1\"")
        .case("other", "cpu-count = 1\nbacking = \"sysv\"");
    laboratory.file("long.toml", experiment.text())
}

fn trials_of(run: &Value) -> usize {
    let cases = run["cases"].as_array().unwrap().iter();
    cases
        .map(|case| case["trials"].as_array().unwrap().len())
        .sum()
}

fn interrupt_after_two_trials(signal: Signal) {
    let laboratory = Laboratory::new();
    let path = long_experiment(&laboratory);
    let mut under_way = laboratory.start_endless(&path);
    under_way.until_trials_are_stored(2);
    under_way.until_there_are(2, Role::Session);
    under_way.signal_group(signal);
    let finished = under_way.finish().with_code(130);
    finished.says(&["interrupted", "completed trials are kept as run"]);
    let run = finished.document();
    assert_eq!(run["status"], "interrupted");
    assert!(trials_of(&run) >= 2, "{run:#}");
    assert_eq!(laboratory.document(&["show", "last", "--json"]), run);
    let text = laboratory.run(&["show"]).with_code(0).stdout;
    assert!(text.contains("interrupted"), "{text}");
    let unknown = laboratory.run(&["show", "1999"]).with_code(2);
    unknown.says(&["\"1999\"", run["run"].as_str().unwrap()]);
    laboratory.nothing_is_left();
}

#[test]
fn control_c_keeps_the_finished_trials_and_leaves_nothing_behind() {
    interrupt_after_two_trials(Signal::INT);
}

#[test]
fn a_termination_keeps_the_finished_trials_and_leaves_nothing_behind() {
    interrupt_after_two_trials(Signal::TERM);
}

/// As when the terminal of a run is closed, or the connection to it is lost.
#[test]
fn a_hang_up_keeps_the_finished_trials_and_leaves_nothing_behind() {
    interrupt_after_two_trials(Signal::HUP);
}

#[test]
fn control_c_in_the_calibration_leaves_a_run_without_trials() {
    let laboratory = Laboratory::new();
    let path = long_experiment(&laboratory);
    let mut under_way = laboratory.start(&["run", &path, "--seconds", "0.4"]);
    under_way.until_there_are(1, Role::Session);
    under_way.signal_group(Signal::INT);
    under_way.finish().with_code(130);
    let run = laboratory.newest_run();
    assert_eq!(run["status"], "interrupted");
    assert_eq!(trials_of(&run), 0);
    let none = laboratory.run(&["show"]).with_code(2);
    none.says(&["no run in the store", "has trials", "numalab history"]);
    laboratory.nothing_is_left();
}

/// Without an experiment, one interrupt ends them all.
#[test]
fn control_c_ends_everything_that_was_to_be_run() {
    let laboratory = Laboratory::new();
    let mut under_way = laboratory.start(&["run", "--json", "--seconds", "0.5"]);
    until("a session of the first experiment", || {
        assert!(!under_way.has_ended(), "{}", under_way.stderr());
        (!laboratory.pids(Role::Session).is_empty()).then_some(())
    });
    under_way.signal_group(Signal::INT);
    let document = under_way.finish().with_code(130).document();
    assert_eq!(document["format"], "numalab.runs/1");
    // The latency matrix precedes the first experiment.
    assert_eq!(document["runs"].as_array().unwrap().len(), 2);
    assert_eq!(document["runs"][0]["experiment"], "latency");
    assert_eq!(document["runs"][1]["status"], "interrupted");
    laboratory.nothing_is_left();
}
