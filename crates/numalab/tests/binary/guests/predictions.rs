//! What `numalab predict` says of placements on real kernels with several nodes, against the
//! doctor's plan and against the kernel's own account once memory was moved.
//!
//! Tests of judgement, relocation.

use serde_json::Value;

use super::cures::{nodes, share_on};
use super::holder::{Holder, cpus_of, use_cpus};
use super::kernel_setting::pages_stay_where_they_are;
use crate::laboratory::Laboratory;

/// Shares that differ by less are equal: a few pages are those of the program itself.
const EQUAL: f64 = 0.01;

fn share(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("{pointer} in {value:#}"))
}

#[test]
fn memory_lies_as_predicted_once_it_was_moved() {
    let Some(nodes) = nodes("memory_lies_as_predicted_once_it_was_moved") else {
        return;
    };
    let laboratory = Laboratory::new();
    let _settings = pages_stay_where_they_are();
    let last = nodes - 1;
    let holder = Holder::start(&["taskset", "-c", &cpus_of(0)], 64, 1, "private");
    let pids = [holder.pid()];
    use_cpus(&pids, &cpus_of(last));
    let pid = pids[0].as_str();
    let plan = &laboratory.document(&["doctor", pid, "--json"])["plan"];
    let document = laboratory.document(&["predict", pid, "--json"]);
    assert_eq!(document["now"], plan["before"]);
    let mut found = document["placements"].as_array().unwrap().iter();
    let of_plan = found.find(|it| it["placement"] == plan["cure"]);
    assert_eq!(of_plan.unwrap()["after"], plan["after"]);

    let last = last.to_string();
    let cpus = format!("nodes:{last}");
    let back = format!("{cpus}+0");
    let placements = ["interleave", &last, "0", "spread", &back].map(|to| ["--to", to]);
    let words = [&["predict", pid, "--json"], placements.as_flattened()].concat();
    let predicted = laboratory.document(&words);
    for (at, to) in ["interleave", &last, "0", "spread"].into_iter().enumerate() {
        laboratory.run(&["move", pid, "--to", to]).with_code(0);
        let after = share(&predicted, &format!("/placements/{at}/after/remote_share"));
        let is = 1.0 - share_on(&pids, nodes - 1);
        assert!((after - is).abs() <= EQUAL, "{to}: {after} predicted, {is}");
        let again = laboratory.document(&["predict", pid, "--json"]);
        let now = share(&again, "/now/remote_share");
        assert!((now - is).abs() <= EQUAL, "{to}: {now}, but {is}");
        laboratory.run(&["undo"]).with_code(0);
    }
    // Its CPUs are those of the last node already.
    let alone = predicted["placements"][4]["after"].clone();
    assert_eq!(alone, predicted["placements"][2]["after"]);
    laboratory.nothing_is_left();
}
