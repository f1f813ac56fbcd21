//! `numalab explain` of a run made here, with and without the latencies of the machine.
//!
//! Tests of report.

use crate::experiment_file::ExperimentFile;
use crate::laboratory::Laboratory;

/// Latencies of a machine whose memory is all on node 0.
const LATENCY: &str = r#"{"format": "numalab.latency/1", "cpu_nodes": [0], "memory_nodes": [0],
    "ns": [[100.0]], "distances": null, "hop_classes": [], "findings": []}"#;

#[test]
fn a_run_that_was_made_here_is_split_into_cpus_and_cost() {
    let laboratory = Laboratory::new();
    // Three sessions get three CPUs, or take turns on one: the cases differ in CPUs delivered.
    let experiment = ExperimentFile::new("free", "[sga]\ncache = \"2MiB\"\n[load]\nsessions = 3")
        .case("free", "")
        .case("caged", "cpu-count = 1");
    let path = laboratory.file("mine.toml", experiment.text());
    laboratory
        .run(&["run", &path, "--trials", "5", "--seconds", "0.5"])
        .with_code(0);
    let explained = laboratory.document(&["explain", "last", "--json"]);
    assert_eq!(explained["format"], "numalab.explain/1");
    let cases = explained["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 2);
    let difference = &explained["differences"][0];
    let figure = |of: &str| {
        let figure = &difference[of];
        (
            figure["ratio"].as_f64().unwrap(),
            figure["low"].as_f64(),
            figure["high"].as_f64(),
        )
    };
    let ((reads, low, high), (cpus, ..), (cost, ..)) = (
        figure("logical_reads"),
        figure("cpus_delivered"),
        figure("cpu_time_per_logical_read"),
    );
    assert!(
        low.unwrap() <= reads && reads <= high.unwrap(),
        "{difference:#}"
    );
    // Reads are CPUs divided by cost; the rest is the deviation left by medians of ratios.
    let rest = difference["rest_ratio"].as_f64().unwrap();
    assert!(
        (reads / (cpus / cost * rest) - 1.0).abs() < 1e-9,
        "{difference:#}"
    );
    let text = laboratory.run(&["explain"]).with_code(0).stdout;
    assert!(text.contains("Why do the cases of run"), "{text}");
    let is_wide = text.lines().any(|line| line.chars().count() > 80);
    assert!(!is_wide && text.lines().count() <= 24, "{text}");
    let text = laboratory.run(&["explain", "--full"]).with_code(0).stdout;
    assert!(text.contains("Against free"), "{text}");

    let latency = laboratory.file("latency.json", LATENCY);
    let with = laboratory.document(&["explain", "last", "--json", "--latency", &latency]);
    if with["differences"][0]["memory"].is_object() {
        // Both cases have the same memory, so its latency explains nothing.
        let memory = &with["differences"][0]["memory"];
        assert_eq!(
            memory["accesses_per_logical_read"],
            serde_json::Value::Null,
            "{memory}"
        );
    }
    laboratory.nothing_is_left();
}

#[test]
fn latencies_that_are_none_are_refused_by_name() {
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("one", "[sga]\ncache = \"1MiB\"\n[load]\nsessions = 1")
        .case("one", "")
        .case("two", "sessions = 2");
    let path = laboratory.file("mine.toml", experiment.text());
    laboratory
        .run(&["run", &path, "--trials", "5", "--seconds", "0.1"])
        .with_code(0);
    for (content, says) in [
        ("{\"format\": \"numalab.latency/1\"", "latency.json"),
        ("no matrix at all", "latency.json"),
    ] {
        let file = laboratory.file("latency.json", content);
        let refused = laboratory.run(&["explain", "last", "--latency", &file]);
        refused
            .with_code(2)
            .says(&["cannot read the latencies", says]);
    }
}
