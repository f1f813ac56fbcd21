//! Cases of a round that are up at once: their windows alternate, and a case without a window
//! sleeps.
//!
//! Tests of experiment, instance.

use std::time::Duration;

use linux::Root;
use linux::proc_stat;
use rustix::process::Signal;
use serde_json::Value;
use testing::not_run::say;

use crate::experiment_file::{ExperimentFile, SMALL};
use crate::finished::valid_trials;
use crate::laboratory::{Laboratory, kill};
use crate::processes::Role;

/// Two cases of two sessions.
fn two_cases(laboratory: &Laboratory, defaults: &str) -> String {
    let experiment = ExperimentFile::new("one", defaults)
        .case("one", "")
        .case("other", "own-allocation = \"interleave:all\"");
    laboratory.file("two.toml", experiment.text())
}

fn trials(case: &Value) -> impl Iterator<Item = &Value> {
    case["trials"].as_array().into_iter().flatten()
}

fn cases(run: &Value) -> impl Iterator<Item = &Value> {
    run["cases"].as_array().into_iter().flatten()
}

/// How many of these processes are running or ready to (proc_pid_stat(5)).
fn running(pids: &[u32]) -> usize {
    let root = Root::live();
    let state = |pid: &u32| root.read_lossy(&format!("proc/{pid}/stat"));
    let is_running = |pid: &&u32| {
        let after_name = |text: &str| text.rsplit_once(") ").map(|it| it.1.starts_with('R'));
        state(pid).is_ok_and(|it| after_name(it.text()) == Some(true))
    };
    pids.iter().filter(is_running).count()
}

#[test]
fn windows_of_two_cases_alternate_and_who_is_parked_sleeps() {
    let laboratory = Laboratory::new();
    let path = two_cases(&laboratory, SMALL);
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "1"];
    let mut under_way = laboratory.start(&words);
    let sessions = under_way.until_there_are(4, Role::Session);
    // According to the kernel, more processes than the sessions of one case rarely want a CPU. On a
    // busy machine, a session may have to wait for a CPU before it can go to sleep: with turns of
    // milliseconds that is often. If none slept, all would want one at each look.
    let mut looks = Vec::new();
    while sessions
        .iter()
        .all(|pid| proc_stat::read(&Root::live(), *pid).is_ok())
    {
        looks.push(running(&sessions));
        std::thread::sleep(Duration::from_millis(5));
    }
    let more = looks.iter().filter(|running| **running > 2).count();
    assert!(looks.len() > 50, "{}", looks.len());
    assert!(more * 10 < looks.len() * 9, "{more} of {}", looks.len());
    let run = under_way.finish().with_code(0).document();
    for case in cases(&run) {
        assert_eq!(case["trials_valid"], 5, "{case:#}");
        for trial in valid_trials(case) {
            let parked = &trial["evidence"]["parked"];
            let parked_s = parked["parked_s"].as_f64().unwrap();
            assert!(parked_s > 0.5, "{parked_s}");
            let allowed_s = parked_s * 0.005 + parked["times"].as_f64().unwrap() * 0.002;
            assert!(parked["cpu_s"].as_f64() <= Some(allowed_s), "{parked}");
            let samples = trial["samples"].as_array().unwrap();
            assert!(samples.len() > 1, "{trial:#}");
            // Its length is that of its statements, which a busy machine delays.
            assert!(trial["window_s"].as_f64() > Some(0.1), "{trial:#}");
        }
    }
    let spent = &run["time"];
    let (all, windows) = (&spent["trials_s"], &spent["windows_s"]);
    assert!(
        all.as_f64() > windows.as_f64() && windows.as_f64() > Some(2.0),
        "{spent}"
    );
    laboratory.nothing_is_left();
}

#[test]
fn a_case_that_dies_beside_another_fails_its_own_trial_only() {
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("one", SMALL)
        .case("one", "")
        .case("other", "cache = \"2MiB\"");
    let path = laboratory.file("two.toml", experiment.text());
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.4"];
    let mut under_way = laboratory.start(&words);
    for (stored, role) in [(2, Role::Session), (6, Role::Instance)] {
        under_way.until_trials_are_stored(stored);
        let count = if role == Role::Session { 4 } else { 2 };
        kill(under_way.until_there_are(count, role)[0]);
        under_way.until_trials_are_stored(stored + 2);
    }
    let run = under_way.finish().with_code(0).document();
    let mut failed = 0;
    for case in cases(&run) {
        assert_eq!(case["trials_valid"], 5, "{case:#}");
        failed += trials(case).filter(|it| it["outcome"] == "failed").count();
    }
    assert_eq!(failed, 2, "{run:#}");
    laboratory.nothing_is_left();
}

/// Cases that differ in what limits them use one SGA in each round; a case with other memory does
/// not. A session that dies fails the cases that share its memory, and no other.
#[test]
fn cases_that_request_the_same_memory_use_the_same() {
    let laboratory = Laboratory::new();
    let defaults = "[sga]\ncache = \"1MiB\"\nallocation = \"interleave:all\"\n[load]\nsessions = 2";
    let experiment = ExperimentFile::new("one", defaults)
        .case("one", "")
        .case("caged", "cpu-count = 1")
        .case("smaller", "cache = \"2MiB\"");
    let path = laboratory.file("shared.toml", experiment.text());
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.5"];
    let mut under_way = laboratory.start(&words);
    under_way.until_trials_are_stored(3);
    kill(under_way.until_there_are(6, Role::Session)[0]);
    let run = under_way.finish().with_code(0).document();
    for case in cases(&run) {
        assert_eq!(case["trials_valid"], 5, "{case:#}");
    }
    let failed = |name: &str| {
        let case = cases(&run).find(|case| case["name"] == name).unwrap();
        trials(case).filter(|it| it["outcome"] == "failed").count()
    };
    // Whoever died before its first turn held no latch.
    let found = (failed("one"), failed("caged"), failed("smaller"));
    let possible = [(0, 0, 1), (1, 1, 0), (1, 0, 0), (0, 1, 0)];
    assert!(possible.contains(&found), "{found:?}: {run:#}");
    let makers = |name: &str| -> Vec<Value> {
        let case = cases(&run).find(|case| case["name"] == name).unwrap();
        let of_trial = |trial: &Value| trial["evidence"]["memory_of"].clone();
        let valid = trials(case).filter(|it| it["outcome"] == "valid");
        valid.map(of_trial).collect()
    };
    let (one, caged) = (makers("one"), makers("caged"));
    for (one, caged) in one.iter().zip(&caged) {
        let either = (one == "caged" && caged.is_null()) || (one.is_null() && caged == "one");
        assert!(either, "{one} and {caged}");
    }
    assert!(makers("smaller").iter().all(Value::is_null));
    laboratory.nothing_is_left();
}

#[test]
fn control_c_between_windows_leaves_nothing() {
    let laboratory = Laboratory::new();
    let path = two_cases(&laboratory, SMALL);
    let words = ["run", &path, "--trials", "5", "--seconds", "30"];
    let mut under_way = laboratory.start(&words);
    under_way.until_there_are(4, Role::Session);
    std::thread::sleep(Duration::from_millis(1500));
    under_way.signal(Signal::INT);
    under_way.finish().with_code(130);
    laboratory.nothing_is_left();
}

#[test]
fn a_run_that_is_to_end_soon_ends_soon() {
    let laboratory = Laboratory::new();
    let path = two_cases(&laboratory, SMALL);
    let words = ["run", &path, "--json", "--seconds", "20", "--within", "5"];
    let run = laboratory.document(&words);
    for case in cases(&run) {
        let windows_s: f64 = trials(case).filter_map(|it| it["window_s"].as_f64()).sum();
        assert!(windows_s > 0.0 && windows_s < 15.0, "{windows_s}");
    }
    laboratory.nothing_is_left();
}

#[test]
fn cases_that_cannot_be_up_at_once_are_tried_one_after_another_with_the_reason() {
    let laboratory = Laboratory::new();
    let path = two_cases(&laboratory, &format!("{SMALL}\nupdate-pct = 10"));
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.2"];
    let ended = laboratory.run(&words).with_code(0);
    ended.says(&["one trial after another", "database writers of one"]);
    let run = ended.document();
    for trial in cases(&run).flat_map(trials) {
        assert_eq!(trial["evidence"]["parked"], Value::Null);
    }
    laboratory.nothing_is_left();
}

/// The yardstick for claims about small differences: a known handicap is found, and its size, too.
#[test]
fn a_handicap_of_known_size_is_found() {
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("one", SMALL)
        .case("one", "")
        .case("dearer", "handicap = \"40 %\"");
    let path = laboratory.file("handicap.toml", experiment.text());
    // 1 / 1.4, with a margin for a machine that does other work. If that makes the interval too
    // wide, more trials make it narrower.
    let is_found = ["5", "20", "60"].iter().any(|trials| {
        let words = ["run", &path, "--json", "--trials", trials, "--seconds", "1"];
        let run = laboratory.document(&words);
        let found = &run["comparisons"][0];
        let end = |key: &str| found[key].as_f64().unwrap();
        assert_eq!(found["case"], "dearer", "{found}");
        let is_found = end("high") < 1.0 && (0.5..0.9).contains(&end("ratio"));
        if !is_found {
            say(&format!("{trials} trials did not find it: {found}"));
        }
        is_found
    });
    assert!(
        is_found,
        "reads that are 40 % dearer were not found in 60 trials"
    );
    let shown = laboratory.run(&["show", "last", "--full"]).with_code(0);
    assert!(
        shown
            .stdout
            .contains("40 % of statements repeated uncounted"),
        "{}",
        shown.stdout
    );
    let scan = ExperimentFile::new("one", "[load]\nwork = \"spin\"\nsessions = 1")
        .case("one", "handicap = \"3 %\"");
    let path = laboratory.file("scan.toml", scan.text());
    laboratory
        .run(&["run", &path])
        .says(&["handicap applies only", "hint: "]);
    let wrong = ExperimentFile::new("one", SMALL).case("one", "handicap = \"3\"");
    let path = laboratory.file("wrong.toml", wrong.text());
    laboratory
        .run(&["run", &path])
        .with_code(2)
        .says(&["such as \"3 %\""]);
    laboratory.nothing_is_left();
}
