//! Parallel scans: the sum is right under every kind of stealing, and a worker that dies fails its
//! trial.
//!
//! Tests of instance.

use std::time::Duration;

use rustix::process::Signal;

use crate::experiment_file::ExperimentFile;
use crate::finished::valid_trials;
use crate::laboratory::Laboratory;
use crate::processes::Role;

const DEFAULTS: &str = "[sga]\ncache = \"8MiB\"\n[load]\nwork = \"parallel-scan\"\nsessions = 3";

#[test]
fn every_scan_finds_the_known_sum_whoever_steals() {
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("spread", DEFAULTS)
        .case("spread", "allocation = \"interleave:all\"")
        .case("off", "allocation = \"per-node:all\"\nstealing = \"off\"")
        .case("free", "allocation = \"per-node:all\"\nstealing = \"free\"")
        .case("alone", "sessions = 1")
        .case("from-file", "data = \"40MiB\"");
    let path = laboratory.file("scans.toml", experiment.text());
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.2"];
    let run = laboratory.document(&words);
    assert_eq!(run["metric"], "bytes_per_s");
    for case in run["cases"].as_array().unwrap() {
        assert_eq!(case["trials_valid"], 5, "{case:#}");
        for trial in valid_trials(case) {
            let blocks = trial["logical_reads"].as_u64().unwrap();
            let scans = trial["statements"].as_u64().unwrap();
            let per_scan = if case["name"] == "from-file" {
                5120
            } else {
                1024
            };
            assert_eq!(blocks, scans * per_scan, "{}", case["name"]);
            let sessions = trial["evidence"]["sessions"].as_array().unwrap();
            let read: u64 = sessions
                .iter()
                .flat_map(|session| session["bytes_read_by_node"].as_object())
                .flat_map(|by_node| by_node.values())
                .map(|bytes| bytes.as_u64().unwrap())
                .sum();
            assert_eq!(read, blocks * 8192, "bytes by node are those of the blocks");
            if case["name"] == "from-file" {
                assert!(trial["physical_reads"].as_u64().unwrap() > 0);
                assert!(trial["waits"]["db file scattered read"]["count"].as_u64() > Some(0));
            }
        }
    }
    laboratory.nothing_is_left();
}

#[test]
fn a_worker_that_dies_fails_its_trial_and_gives_no_sum() {
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("one", DEFAULTS).case("one", "");
    let path = laboratory.file("deaths.toml", experiment.text());
    let mut under_way = laboratory.start_endless(&path);
    for (stored, later_ms) in [(1, 0), (3, 200)] {
        under_way.until_trials_are_stored(stored);
        under_way.kill_in_a_trial(Duration::from_millis(later_ms), |under_way| {
            under_way.until_there_are(3, Role::Session)[1]
        });
    }
    under_way.until_trials_are_stored(5);
    under_way.signal_group(Signal::INT);
    let run = under_way.finish().with_code(130).document();
    let case = &run["cases"][0];
    assert!(case["trials_valid"].as_u64() > Some(1), "{case:#}");
    let failed = case["trials"].as_array().unwrap().iter();
    let failed: Vec<_> = failed
        .filter(|trial| trial["outcome"] == "failed")
        .collect();
    assert!(failed.len() >= 2, "{case:#}");
    for trial in failed {
        let reason = trial["reason"].as_str().unwrap();
        assert!(
            reason.contains("session 1") && reason.contains("signal: 9"),
            "{reason}"
        );
        assert!(trial["value"].is_null());
    }
    laboratory.nothing_is_left();
}

#[test]
fn caging_and_other_work_are_refused_for_scans() {
    let laboratory = Laboratory::new();
    let caged = ExperimentFile::new("one", DEFAULTS).case("one", "cpu-count = 2");
    let path = laboratory.file("caged.toml", caged.text());
    let refused = laboratory.run(&["run", &path]).with_code(2);
    refused.says(&["instance caging does not apply to the workers"]);
    let mixed = ExperimentFile::new("one", DEFAULTS)
        .case("one", "")
        .case("other", "work = \"logical-reads\"");
    let path = laboratory.file("mixed.toml", mixed.text());
    let refused = laboratory.run(&["run", &path]).with_code(2);
    refused.says(&["case other and the first case have different work"]);
}
