//! A process of a trial dies: the trial fails and names it, and the run goes on.
//!
//! Tests of instance.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::experiment_file::ExperimentFile;
use crate::laboratory::{Laboratory, kill};
use crate::processes::Role;

fn experiment(laboratory: &Laboratory) -> String {
    let defaults = "[sga]\ncache = \"1MiB\"\n[load]\nsessions = 3";
    let experiment = ExperimentFile::new("one", defaults).case("one", "cpus = \"all:1\"");
    laboratory.file("deaths.toml", experiment.text())
}

/// Kills a process in three trials that are not adjacent, a little later in each, and returns the
/// reasons of the failed trials.
fn reasons(
    laboratory: &Laboratory,
    victim: impl Fn(&mut crate::laboratory::UnderWay<'_>) -> u32,
) -> Vec<String> {
    let path = experiment(laboratory);
    let mut under_way = laboratory.start_endless(&path);
    for (stored, later_ms) in [(1, 0), (3, 150), (5, 300)] {
        under_way.until_trials_are_stored(stored);
        // A moment within the trial: warm-up and window take at least 700 ms.
        under_way.kill_in_a_trial(Duration::from_millis(later_ms), &victim);
    }
    under_way.until_trials_are_stored(7);
    under_way.signal_group(Signal::INT);
    let run = under_way.finish().with_code(130).document();
    let case = &run["cases"][0];
    assert!(case["trials_valid"].as_u64() > Some(2), "{case:#}");
    let trials = case["trials"].as_array().unwrap().iter();
    let failed = trials.filter(|trial| trial["outcome"] == "failed");
    let reason = |trial: &Value| trial["reason"].as_str().unwrap().to_owned();
    failed.map(reason).collect()
}

#[test]
fn a_session_that_dies_fails_its_trial_only() {
    let laboratory = Laboratory::new();
    let reasons = reasons(&laboratory, |under_way| {
        under_way.until_there_are(3, Role::Session)[1]
    });
    assert!(reasons.len() >= 3, "{reasons:?}");
    for reason in reasons {
        assert!(reason.contains("session 1"), "{reason}");
        assert!(
            reason.contains("ended early") && reason.contains("signal: 9"),
            "{reason}"
        );
    }
    laboratory.nothing_is_left();
}

#[test]
fn an_instance_that_dies_fails_its_trial_only() {
    let laboratory = Laboratory::new();
    let reasons = reasons(&laboratory, |under_way| {
        under_way.until_there_are(1, Role::Instance)[0]
    });
    assert!(reasons.len() >= 3, "{reasons:?}");
    for reason in reasons {
        assert!(reason.contains("instance"), "{reason}");
        if reason.contains("signal: 9") {
            assert!(
                reason.contains("kernel's out-of-memory killer did (check `dmesg`)"),
                "{reason}"
            );
        }
    }
    laboratory.nothing_is_left();
}

/// Without a work unit, nothing can run.
#[test]
fn a_session_that_dies_in_the_calibration_ends_the_run() {
    let laboratory = Laboratory::new();
    let path = experiment(&laboratory);
    let mut under_way = laboratory.start(&["run", &path, "--seconds", "0.4"]);
    kill(under_way.until_there_are(1, Role::Session)[0]);
    let finished = under_way.finish().with_code(8);
    finished.says(&["cannot calibrate the work unit", "session 0", "signal: 9"]);
    let run = laboratory.newest_run();
    assert_eq!(run["status"], "failed");
    laboratory.nothing_is_left();
}

/// As when a package is upgraded, or rebuilt, during a long run.
#[test]
fn a_binary_that_is_replaced_does_not_disturb_a_run() {
    let mut laboratory = Laboratory::new();
    let binary = laboratory.use_a_copy();
    let path = experiment(&laboratory);
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.2"];
    let mut under_way = laboratory.start(&words);
    under_way.until_there_are(1, Role::Instance);
    std::fs::remove_file(&binary).unwrap();
    let run = under_way.finish().with_code(0).document();
    assert_eq!(run["cases"][0]["trials_valid"], 5);
    assert_eq!(run["cases"][0]["trials_failed"], 0);
    laboratory.no_process_or_memory_is_left();
}
