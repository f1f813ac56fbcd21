//! Two runs at once, of one user and in one store.

use std::collections::BTreeSet;

use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::Laboratory;
use crate::processes::Role;

#[test]
fn two_runs_at_once_keep_apart() {
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("one", SMALL)
        .case("one", "cpus = \"all:1\"")
        .case("other", "backing = \"sysv\"");
    let path = laboratory.file("two.toml", experiment.text());
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.2"];
    let mut first = laboratory.start(&words);
    // Ids are times: the second run does not start in the millisecond of the first.
    first.until_there_are(1, Role::Instance);
    let second = laboratory.start(&words);
    let runs = [first, second].map(|run| run.finish().with_code(0).document());
    let mut groups = BTreeSet::new();
    for run in &runs {
        let id = run["run"].as_str().unwrap();
        assert_eq!(laboratory.document(&["show", id, "--json"]), *run);
        for case in run["cases"].as_array().unwrap() {
            assert_eq!(case["trials_valid"], 5, "{case:#}");
        }
        let group = &run["cases"][0]["trials"][0]["evidence"]["group"]["path"];
        groups.insert(group.to_string());
    }
    let ids = runs.each_ref().map(|run| &run["run"]);
    assert_ne!(ids[0], ids[1]);
    let has_groups = !groups.contains("null");
    assert!(!has_groups || groups.len() == 2, "{groups:?}");
    laboratory.nothing_is_left();
}
