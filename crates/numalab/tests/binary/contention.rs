//! Many sessions on few blocks and few turns: sums stay right, and no session waits forever.
//!
//! Tests of instance.

use rustix::process::Signal;
use serde_json::Value;

use crate::experiment_file::ExperimentFile;
use crate::finished::valid_trials;
use crate::laboratory::Laboratory;
use crate::processes::Role;

/// A cache so small that all sessions meet on a few hundred hash buckets and the cage's latch.
#[test]
fn sums_are_right_under_contention() {
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("eight", "[sga]\ncache = \"1MiB\"")
        .case("eight", "sessions = 8\ncpu-count = 3")
        .case("five", "sessions = 5\ncpu-count = 2")
        .case("sixteen-on-one", "sessions = 16\ncpus = \"all:1\"");
    let path = laboratory.file("contention.toml", experiment.text());
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.6"];
    let run = laboratory.document(&words);
    for case in run["cases"].as_array().unwrap() {
        assert_eq!(case["trials_valid"], 5, "{case:#}");
        valid_trials(case).into_iter().for_each(sums_are_right);
    }
    let most = |case: usize| {
        let trials = run["cases"][case]["trials"].as_array().unwrap().iter();
        let most = trials.map(|it| it["evidence"]["running_sessions_max"].as_u64().unwrap());
        most.max()
    };
    // On a busy machine, one trial may never see all of its turns taken at once.
    assert_eq!([most(0), most(1)], [Some(3), Some(2)]);
    laboratory.nothing_is_left();
}

/// The tables are so small that an index is one leaf: a statement reads the leaf, then its rows.
fn sums_are_right(trial: &Value) {
    let number = |value: &Value| value.as_u64().unwrap();
    let statements = number(&trial["statements"]);
    let rows = number(&trial["evidence"]["rows_verified"]);
    assert!(statements > 0);
    assert_eq!(
        number(&trial["logical_reads"]),
        statements + rows,
        "{trial}"
    );
    assert_eq!(rows % statements, 0, "{trial}");
}

#[test]
fn caging_that_would_do_nothing_is_refused() {
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("one", "").case("one", "sessions = 1\ncpu-count = 1");
    let path = laboratory.file("one.toml", experiment.text());
    let refused = laboratory.run(&["run", &path]).with_code(2);
    refused.says(&["`cpu-count`", "otherwise caging has no effect"]);
    laboratory.nothing_is_left();
}

/// Otherwise some sessions get no turn in the window, and the trial says nothing about them.
#[test]
fn a_window_too_short_for_every_session_to_have_its_turn_is_refused() {
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("many", "[sga]\ncache = \"1MiB\"")
        .case("many", "sessions = 16\ncpu-count = 1");
    let path = laboratory.file("many.toml", experiment.text());
    let refused = laboratory
        .run(&["run", &path, "--seconds", "0.5"])
        .with_code(2);
    refused.says(&["case many", "16 sessions", "0.5 s", "set --seconds to 1.7"]);
    let mut accepted = laboratory.start(&["run", &path, "--seconds", "1.7"]);
    accepted.until_there_are(1, Role::Session);
    accepted.signal_group(Signal::INT);
    accepted.finish().with_code(130);
    laboratory.nothing_is_left();
}
