//! `--last-level-cache`: sizes that are multiples of the caches follow the given size, not the one
//! that the kernel shows, and the stored run says so.

use serde_json::{Value, json};

use crate::experiment_file::ExperimentFile;
use crate::laboratory::{CACHE_OPTION, Laboratory};

const MIB: u64 = 1 << 20;

#[test]
fn the_working_set_of_latencies_follows_the_cache_that_is_named() {
    let laboratory = Laboratory::new();
    // Four times the cache, but at least 128 MiB (docs/latency.md).
    for (cache, working_set) in [("4MiB", 128 * MIB), ("40MiB", 160 * MIB)] {
        let arguments = ["latency", "--anyway", "--rounds", "1", "--json"];
        let arguments = [&arguments[..], &[CACHE_OPTION, cache]].concat();
        let document = laboratory.document(&arguments);
        assert_eq!(document["method"]["working_set_bytes"], working_set);
    }
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
