//! Loads in their own memory: each is verified, its memory is proven, and failures are reported.
//!
//! Tests of instance.

use std::time::Duration;

use model::SessionLoad;

use crate::experiment_file::ExperimentFile;
use crate::finished::valid_trials;
use crate::laboratory::Laboratory;
use crate::little_memory::LittleMemory;
use crate::processes::Role;

fn defaults(work: &str) -> String {
    format!(
        "[sga]\ncache = \"2MiB\"\n[load]\nwork = \"{work}\"\nsessions = 2\nown-memory = \"2MiB\""
    )
}

#[test]
fn every_load_is_verified_and_its_memory_is_proven() {
    let laboratory = Laboratory::new();
    let last = SessionLoad::TABLE.last().unwrap();
    for facts in SessionLoad::TABLE {
        let work = facts.name;
        let bound = "own-allocation = \"bind:first-node\"";
        let experiment = ExperimentFile::new("first", &defaults(work)).case("first", bound);
        // One control is enough; it is in the last experiment, whose screen is checked below.
        let has_control = facts == last;
        let spread = "own-allocation = \"interleave:all\"";
        let experiment = experiment.case("spread", spread);
        let experiment = match has_control {
            true => experiment.case("again", bound),
            false => experiment,
        };
        let path = laboratory.file("load.toml", experiment.text());
        let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.2"];
        let run = laboratory.document(&words);
        assert_eq!(run["metric"], facts.metric.name());
        let control = &run["controls"][0];
        assert_eq!(control["case"] == "again", has_control, "{work}");
        assert_eq!(control["of"] == "first", has_control, "{work}");
        for case in run["cases"].as_array().unwrap() {
            assert_eq!(case["trials_valid"], 5, "{work}: {case:#}");
            for trial in valid_trials(case) {
                assert!(trial["value"].as_f64() > Some(0.0), "{work}: {trial:#}");
                assert!(trial["kernel_cpu_s"].as_f64() >= Some(0.0), "{work}");
                let reads = trial["logical_reads"].as_u64().unwrap();
                assert_eq!(reads > 0, facts.reads_rows, "{work}: {reads} logical reads");
                for session in trial["evidence"]["sessions"].as_array().unwrap() {
                    let memory = &session["own_memory"];
                    let sum = |when: &str| -> u64 {
                        let bytes = memory[when].as_object().into_iter().flatten();
                        bytes.map(|(_, bytes)| bytes.as_u64().unwrap()).sum()
                    };
                    let before = sum("bytes_by_node_before");
                    let after = sum("bytes_by_node_after");
                    let missing = memory["bytes_without_node"].as_u64().unwrap_or(0);
                    let expected = if facts.load.has_memory() { 2 << 20 } else { 0 };
                    // The kernel may reclaim a page before it is read back; the evidence says so.
                    let all = before + after + missing;
                    assert_eq!(all, 2 * expected, "{work}: {session:#}");
                    assert!(missing <= expected / 100, "{work}: {session:#}");
                }
            }
        }
    }
    let shown = laboratory.run(&["show", "--full"]).with_code(0).stdout;
    // Whether a control ties depends on the machine; the screen must agree with the document.
    let run = laboratory.document(&["show", "--json"]);
    let control = run["controls"][0]["verdict"].as_str().unwrap();
    for words in [
        "of it in the kernel(s)",
        "the negative control again",
        &format!("control of first: {control}"),
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let has_reads = shown.contains("Logical read (blocks)");
    assert_eq!(has_reads, last.reads_rows, "{shown}");
    laboratory.nothing_is_left();
}

#[test]
fn a_session_that_is_killed_fails_its_trial_and_not_the_run() {
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("one", &defaults("memory-hammer")).case("one", "");
    let path = laboratory.file("killed.toml", experiment.text());
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.4"];
    let mut under_way = laboratory.start(&words);
    under_way.until_trials_are_stored(1);
    under_way.kill_in_a_trial(Duration::ZERO, |under_way| {
        under_way.until_there_are(2, Role::Session)[1]
    });
    let run = under_way.finish().with_code(0).document();
    let case = &run["cases"][0];
    assert_eq!(case["trials_valid"], 5, "{case:#}");
    let trials = case["trials"].as_array().unwrap().iter();
    let failed: Vec<_> = trials.filter(|it| it["outcome"] == "failed").collect();
    assert!(!failed.is_empty(), "{case:#}");
    let reason = failed[0]["reason"].as_str().unwrap();
    assert!(
        reason.contains("session 1") && reason.contains("signal: 9"),
        "{reason}"
    );
    laboratory.nothing_is_left();
}

#[test]
fn more_than_there_is_room_for_is_refused_with_the_way_out() {
    let laboratory = Laboratory::new();
    let refused = |work: &str, keys: &str, code: i32, says: &[&str]| {
        let experiment = ExperimentFile::new("one", &defaults(work)).case("one", keys);
        let path = laboratory.file("refused.toml", experiment.text());
        laboratory.run(&["run", &path]).with_code(code).says(says);
    };
    refused(
        "shm-fill",
        "own-memory = \"16TiB\"",
        3,
        &[
            "the files of 2 sessions need 32 TiB in /dev/shm",
            "remount,size=",
            "`own-memory`",
        ],
    );
    refused(
        "memory-hammer",
        "own-memory = \"4TiB\"",
        3,
        &[
            "the sessions' own memory needs",
            "free memory there, or set a smaller `own-memory`",
        ],
    );
    refused(
        "memory-hammer",
        "allocation = \"bind:first-node\"",
        2,
        &["do not read from the SGA", "set own-allocation"],
    );
    refused(
        "spin",
        "cpu-count = 1",
        2,
        &["instance caging applies only to sessions that read rows"],
    );
    refused(
        "compute",
        "own-allocation = \"per-node:all\"",
        2,
        &[
            "supports neither pools nor weights",
            "set own-allocation to",
        ],
    );
    refused(
        "shm-fill",
        "page-size = \"2MiB\"",
        2,
        &["files in /dev/shm have"],
    );
    laboratory.nothing_is_left();
}

/// The sessions prefault in a cgroup with too little memory: the kernel kills one, and the trial
/// says so.
#[test]
fn a_session_that_runs_out_of_memory_is_told_of() {
    const NAME: &str = "a_session_that_runs_out_of_memory_is_told_of";
    let Some(group) = LittleMemory::new(NAME, 96) else {
        return;
    };
    let mut laboratory = Laboratory::new();
    group.is_hidden_from(&mut laboratory);
    let hungry = "own-memory = \"256MiB\"";
    let experiment = ExperimentFile::new("one", &defaults("memory-hammer")).case("one", hungry);
    let path = laboratory.file("hungry.toml", experiment.text());
    let finished = laboratory.run(&["run", &path, "--trials", "5", "--seconds", "0.2"]);
    finished
        .with_code(8)
        .says(&["every trial failed", "memory"]);
    laboratory.nothing_is_left();
}
