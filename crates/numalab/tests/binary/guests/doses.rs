//! `numalab predict --dose` in a guest: small doses of pages find what a table of emulated costs
//! says of whole placements. Its clocks count instructions: beside others on this machine, doses
//! show nothing above their noise.
//!
//! Tests of switchback, relocation, stats, judgement.

use rustix::process::Signal;
use serde_json::Value;

use super::kernel_setting::pages_stay_where_they_are;
use super::numa_maps;
use crate::experiment_file::ExperimentFile;
use crate::laboratory::{Laboratory, UnderWay};
use crate::patience::until;
use crate::unmet_need::is_guest;

const SHAPE: &str = "counted-two-node";
/// What a read costs on its node and on the other, ns.
const LOCAL_NS: f64 = 20_000.0;
const FAR_NS: f64 = 35_000.0;

/// Holds up an instance on the first node whose SGA is on the second one.
pub(super) fn held(laboratory: &Laboratory) -> (UnderWay<'_>, String) {
    // By affinity: a group in the journal would be in use as long as the instance is up.
    let defaults = "[placement]\ncpus = \"first-node:1\"\nmechanism = \"affinity\"\n[sga]\n\
                    cache = \"32MiB\"\n[load]\nsessions = 1\nwork-unit = 4";
    let table = format!("{LOCAL_NS} {FAR_NS}; {FAR_NS} {LOCAL_NS}");
    let case = format!("allocation = \"prefer:1\"\nemulated-cost = \"{table}\"");
    let experiment = ExperimentFile::new("far", defaults).about_memory();
    let experiment = experiment.case("far", &case);
    let path = laboratory.file("cost.toml", experiment.text());
    let mut held = laboratory.start(&["run", &path, "--hold", "far", "--json"]);
    let document: Value = until("the document", || {
        assert!(!held.has_ended(), "it was not held: {}", held.stderr());
        serde_json::from_str(&held.stdout()).ok()
    });
    let pid = document["instance_pid"].to_string();
    (held, pid)
}

/// The policy and the pages of the SGA by node, as the kernel says.
pub(super) fn sga(pid: &str) -> Vec<String> {
    let maps = numa_maps::of(pid.parse().unwrap()).into_iter();
    // Counters that all processes share are small.
    let maps = maps.filter(|mapping| mapping.is_of_sga && mapping.bytes() > 1 << 20);
    maps.map(|it| format!("{} {:?}", it.policy, it.pages))
        .collect()
}

#[test]
fn doses_predict_what_the_table_says() {
    if !is_guest("doses_predict_what_the_table_says", SHAPE) {
        return;
    }
    let _settings = pages_stay_where_they_are();
    let laboratory = Laboratory::new();
    let (held, pid) = held(&laboratory);
    let before = sga(&pid);
    let words = ["predict", &pid, "--dose", "--to", "0", "--to", "interleave"];
    let short = ["--window", "3", "--for", "220", "--seed", "7", "--json"];
    let found = laboratory.document(&[&words[..], &short].concat());
    assert_eq!(sga(&pid), before, "{found}");
    assert_eq!(found["to_node"], 0, "{found}");
    assert!(
        found["notes"].to_string().contains("emulated cost"),
        "{found}"
    );
    agrees(&found);
    held.signal(Signal::INT);
    held.finish().with_code(0);
    laboratory.nothing_is_left();
}

/// Asserts that there is a prediction whose intervals hold what the table says.
#[track_caller]
fn agrees(found: &Value) {
    assert_eq!(found["refused"], Value::Null, "{found}");
    let whole = LOCAL_NS / FAR_NS - 1.0;
    let placements = found["placements"].as_array().unwrap().iter();
    for (placement, by_table) in placements.zip([whole, whole / 2.0]) {
        let end = |key: &str| placement[key].as_f64().unwrap();
        let (low, change, high) = (end("low"), end("cpu_time_change"), end("high"));
        let name = &placement["placement"];
        // The time of the read itself makes it a little less.
        assert!(
            high < 0.0 && low <= 0.67 * by_table && by_table <= high,
            "{name}: {change:.3} ({low:.3} to {high:.3}), at most {by_table:.3} by the table"
        );
    }
}
