//! Everything that does not need root works without it, and the rest says what it needs.
//!
//! Tests of linux, placement.

use std::fs;

use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::Laboratory;
use crate::unmet_need::{has_groups, is_root};
use crate::user::{NOBODY, User};

#[test]
fn a_group_that_may_not_be_made_is_refused_with_the_way_without_root() {
    if !is_root("a_group_that_may_not_be_made_is_refused_with_the_way_without_root") {
        return;
    }
    let laboratory = Laboratory::of(NOBODY);
    let experiment =
        ExperimentFile::new("one", SMALL).case("one", "cpus = \"all:1\"\nmechanism = \"group\"");
    let path = laboratory.file("group.toml", experiment.text());
    let finished = laboratory.run(&["run", &path]);
    // 3 if no hierarchy has the cpuset controller, so that not even root could do it.
    let code = if finished.stderr.contains("is mounted") {
        3
    } else {
        4
    };
    finished.with_code(code).says(&[
        "case one: needs a processor group, which cannot be created here",
        "set mechanism = \"affinity\", which needs no group and no root",
    ]);
    laboratory.nothing_is_left();
}

#[test]
fn a_capability_stands_for_root() {
    const TEST: &str = "a_capability_stands_for_root";
    if !is_root(TEST) || !has_groups(TEST) {
        return;
    }
    let mut laboratory = Laboratory::of(NOBODY);
    let words = User::capabilities(&["dac_override"]);
    laboratory.launch_behind(&words.each_ref().map(String::as_str));
    let experiment =
        ExperimentFile::new("one", SMALL).case("one", "cpus = \"all:1\"\nmechanism = \"group\"");
    let path = laboratory.file("group.toml", experiment.text());
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.1"];
    let run = laboratory.document(&words);
    assert_eq!(run["cases"][0]["trials_valid"], 5, "{run:#}");
    laboratory.nothing_is_left();
}

#[test]
fn a_run_without_root_is_placed_by_affinity_and_memory_policy() {
    if !is_root("a_run_without_root_is_placed_by_affinity_and_memory_policy") {
        return;
    }
    let laboratory = Laboratory::of(NOBODY);
    let experiment = ExperimentFile::new("bound", SMALL)
        .case(
            "bound",
            "cpus = \"first-node:1\"\nmemory-nodes = \"first-node\"",
        )
        .case("free", "backing = \"sysv\"");
    let path = laboratory.file("auto.toml", experiment.text());
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.2"];
    let run = laboratory.document(&words);
    let bound = &run["cases"][0];
    assert_eq!(bound["placement"]["mechanism"], "affinity");
    let node = bound["placement"]["memory_nodes"].as_str().unwrap();
    for case in run["cases"].as_array().unwrap() {
        assert_eq!(case["trials_valid"], 5, "{case:#}");
    }
    for trial in bound["trials"].as_array().unwrap() {
        assert_eq!(trial["evidence"]["group"], serde_json::Value::Null);
        for session in trial["evidence"]["sessions"].as_array().unwrap() {
            assert_eq!(session["policy"], format!("bind:{node}"));
            assert_eq!(session["cpus_allowed"], bound["placement"]["cpus"]);
            assert_eq!(session["cpus_used"], bound["placement"]["cpus"]);
        }
    }
    laboratory.nothing_is_left();
}

#[test]
fn looking_needs_no_root() {
    if !is_root("looking_needs_no_root") {
        return;
    }
    let laboratory = Laboratory::of(NOBODY);
    let topology = laboratory.document(&["topology", "--json"]);
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    assert_eq!(topology["cpus"], online.trim());
    let text = laboratory.run(&["topology"]).with_code(0);
    assert_eq!(text.stderr, "");
    let listed = laboratory.document(&["list", "--json"]);
    let experiments = listed["experiments"].as_array().unwrap();
    assert!(
        experiments
            .iter()
            .any(|it| it["name"] == "binding-vs-caging")
    );
    assert_eq!(
        laboratory.document(&["history", "--json"])["runs"],
        serde_json::json!([])
    );
    laboratory.nothing_is_left();
}

#[test]
fn a_state_folder_that_may_not_be_written_is_named() {
    if !is_root("a_state_folder_that_may_not_be_written_is_named") {
        return;
    }
    let laboratory = Laboratory::of(NOBODY);
    std::os::unix::fs::chown(laboratory.state(), Some(0), Some(0)).unwrap();
    let refused = laboratory.run(&["run", "binding-vs-caging"]).with_code(9);
    refused.says(&["state/numalab", "Permission denied", "hint: "]);
    laboratory.nothing_is_left();
}
