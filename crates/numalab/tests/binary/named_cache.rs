//! `--last-level-cache`: sizes that are multiples of the caches follow the given size, not the one
//! that the kernel shows, and the stored run says so.
//!
//! Tests of experiment, topology.

use serde_json::{Value, json};

use crate::experiment_file::ExperimentFile;
use crate::laboratory::{CACHE_OPTION, Laboratory};
use crate::memory;
use crate::patience::until;

const MIB: u64 = 1 << 20;

/// The latencies of a run with a trial that counts: on a busy machine the only one may not, and
/// then nothing is told of its method.
fn latencies(laboratory: &Laboratory, arguments: &[&str]) -> Value {
    until("a trial counts", || {
        let document = laboratory.document(arguments);
        (!document["method"].is_null()).then_some(document)
    })
}

#[test]
fn the_working_set_of_latencies_grows_up_to_four_times_the_cache_that_is_named() {
    let laboratory = Laboratory::new();
    // At least to 1 GiB (docs/latency.md).
    for (cache, bytes_max) in [("4MiB", 1024 * MIB), ("300MiB", 1200 * MIB)] {
        let arguments = ["latency", "--anyway", "--rounds", "1", "--json"];
        let arguments = [&arguments[..], &[CACHE_OPTION, cache]].concat();
        let document = latencies(&laboratory, &arguments);
        let found = &document["machine"]["working_set"];
        let bytes = found["bytes"].as_u64().unwrap();
        // Where laps would take too long, it times first visits, which need no more than this.
        let method = &document["method"];
        let is_short = method["first_visits"] == true;
        let expected = if is_short { 128 * MIB } else { bytes };
        assert_eq!(method["working_set_bytes"], expected, "{method:#}");
        assert!((256 * MIB..=bytes_max).contains(&bytes), "{found:#}");
        assert!(found["bytes_max"].as_u64() <= Some(bytes_max), "{found:#}");
        let points = found["points"].as_array().unwrap();
        assert_eq!(points[0]["bytes"], 256 * MIB);
        let tried = points.last().unwrap()["bytes"].as_u64().unwrap();
        let beyond = (tried + tried / 2).min(found["bytes_max"].as_u64().unwrap());
        let is_beyond = found["is_beyond_caches"].as_bool().unwrap();
        assert_eq!(bytes, if is_beyond { beyond } else { tried });
    }
    let arguments = ["latency", "--anyway", "--rounds", "1", "--json"];
    let document = latencies(&laboratory, &[&arguments[..], &memory::SMALL].concat());
    assert_eq!(document["method"]["working_set_bytes"], 64 * MIB);
    assert_eq!(document["machine"]["working_set"], Value::Null);
}

#[test]
fn a_dry_run_says_what_would_be_measured_and_stores_nothing() {
    let laboratory = Laboratory::new();
    for (command, format, runs) in [
        (
            "latency",
            "numalab.latency-plan/1",
            &["latency", "latency-curve"][..],
        ),
        ("bandwidth", "numalab.bandwidth-plan/1", &["bandwidth"]),
    ] {
        let mut arguments = vec![command, "--dry-run", "--json", "--rounds", "7"];
        let is_latency = command == "latency";
        arguments.extend(is_latency.then_some("--curve"));
        let plan = laboratory.document(&arguments);
        assert_eq!(plan["format"], format);
        let planned = plan["runs"].as_array().unwrap();
        let names: Vec<&str> = planned
            .iter()
            .map(|run| run["experiment"].as_str().unwrap())
            .collect();
        assert_eq!(names, runs);
        for run in planned {
            assert_eq!(
                (&run["rounds_min"], &run["rounds_max"]),
                (&json!(7), &json!(7))
            );
            assert!(
                run["seconds_max"].as_f64() <= run["limit_s"].as_f64(),
                "{run:#}"
            );
        }
        assert_eq!(plan["costs"]["measured"], is_latency);
        assert!(plan["seconds_min"].as_f64() > Some(0.0), "{plan:#}");
        let size = if is_latency { &memory::SMALL[..] } else { &[] };
        let text = laboratory.run(&[&[command, "--dry-run"], size].concat());
        let text = text.with_code(0);
        assert!(text.stdout.contains("in total"), "{}", text.stdout);
    }
    let listed = laboratory.run(&["history"]).with_code(0);
    assert!(!listed.stdout.contains("latency"), "{}", listed.stdout);
}

#[test]
fn a_dry_run_plans_for_a_captured_machine() {
    let laboratory = Laboratory::new();
    let machine = testing::article_machines::thirty_two_nodes().tree();
    let machine = machine.expand_in_memory().unwrap();
    let root = machine.path().display().to_string();
    let plan = laboratory.document(&["latency", "--dry-run", "--root", &root, "--json"]);
    assert_eq!(plan["costs"]["measured"], false);
    assert_eq!(plan["runs"][0]["cases"], 32 * 32 + 1);
    assert_eq!(
        plan["runs"][0]["limit_s"].as_f64().map(f64::round),
        Some(900.0)
    );
    assert!(plan["seconds_min"].as_f64() < Some(900.0), "{plan:#}");
    let refused = laboratory.run(&["latency", "--root", &root]);
    refused.with_code(2).says(&["--dry-run"]);
}

#[test]
fn a_cache_that_is_named_is_recorded_beside_the_one_that_is_shown() {
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("one", "[load]\nwork = \"command\"")
        .case("one", "command = \"echo 1\"");
    let path = laboratory.file("named.toml", experiment.text());
    let arguments = ["run", &path, "--trials", "5", CACHE_OPTION, "300MiB"];
    laboratory.run(&arguments).with_code(0);
    let machine = laboratory.document(&["show", "last", "--json"])["machine"].take();
    let shown = laboratory.document(&["topology", "--json"])["caches"].take();
    let last = |caches: &Value| {
        let caches = caches.as_array().unwrap().iter();
        let holds_data = caches.filter(|cache| cache["kind"] != "instruction");
        holds_data
            .max_by_key(|cache| cache["level"].as_u64())
            .cloned()
    };
    let size = |caches: &Value| last(caches).map_or(Value::Null, |it| it["size_bytes"].clone());
    assert_eq!(
        machine["last_level_cache"],
        json!({ "bytes": 300 * MIB, "shown_bytes": size(&shown), "source": "option" })
    );
    assert_eq!(size(&machine["topology"]["caches"]), 300 * MIB);
    let text = laboratory.run(&["show", "last", "--full"]).with_code(0);
    let text = text.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("last-level cache of 300 MiB by"), "{text}");
}

#[test]
fn a_cache_that_is_larger_than_memory_is_planned_for_and_refused() {
    let laboratory = Laboratory::new();
    let arguments = ["run", "binding-vs-caging", CACHE_OPTION, "3TiB"];
    let refused = laboratory.run(&arguments).with_code(3);
    refused.says(&["12.", " TiB"]);
    let listed = laboratory.run(&["list", CACHE_OPTION, "3TiB"]).with_code(0);
    assert!(listed.stdout.contains(" TiB"), "{}", listed.stdout);
    for size in ["0", "-1", "much", "99999999999999TiB"] {
        let refused = laboratory.run(&["latency", &format!("{CACHE_OPTION}={size}")]);
        refused.with_code(2).says(&[CACHE_OPTION]);
    }
}
