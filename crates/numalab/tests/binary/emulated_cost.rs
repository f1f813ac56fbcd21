//! An emulated cost on this machine: a read costs what the table says, and whatever shows a figure
//! says where it comes from.
//!
//! Tests of experiment, instance, report.

use rustix::process::Signal;
use serde_json::Value;

use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::Laboratory;
use crate::patience::until;

const LABEL: &str = "emulated cost";
const ONE: &str = "[sga]\ncache = \"1MiB\"\n[load]\nsessions = 1\nwork-unit = 4";

#[test]
fn a_read_costs_what_the_table_says_and_every_text_says_that_it_is_a_table() {
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("free", ONE)
        .case("free", "")
        .case("dear", "emulated-cost = \"20000 20000\"");
    let path = laboratory.file("cost.toml", experiment.text());
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.4"];
    let run = laboratory.document(&words);
    assert_eq!(run["experiment"], "mine-emulated-cost");
    assert!(run["warnings"][0].as_str().unwrap().starts_with(LABEL));
    let explained = laboratory.document(&["explain", "last", "--json"]);
    let cost = |case: &str| {
        let mut cases = explained["cases"].as_array().unwrap().iter();
        let found = cases.find(|it| it["name"] == case).unwrap();
        found["cpu_ns_per_logical_read"].as_f64().unwrap()
    };
    // CPU time: others on this machine only make it longer.
    let difference = cost("dear") - cost("free");
    assert!((16_000.0..40_000.0).contains(&difference), "{explained:#}");
    let dear = run["comparisons"][0].clone();
    assert_eq!(
        (&dear["case"], &dear["verdict"]),
        (&"dear".into(), &"slower".into())
    );
    for words in [
        &["show", "last"][..],
        &["show", "last", "--full"],
        &["explain", "last"],
        &["history"],
        &["report", "last", "--markdown", "-"],
        &["compare", "last:free", "last:dear"],
    ] {
        let said = laboratory.run(words).with_code(0).stdout;
        let said = said.to_lowercase().replace('-', " ");
        assert!(said.contains(LABEL), "{words:?}: {said}");
    }
    let asked = laboratory.run(&["show", "last", "--full"]).stdout;
    assert!(asked.contains("with an emulated cost of "), "{asked}");
}

#[test]
fn the_command_line_has_it_too_and_a_table_that_fits_no_machine_is_refused() {
    let laboratory = Laboratory::new();
    let one = ExperimentFile::new("one", SMALL).case("one", "");
    let path = laboratory.file("one.toml", one.text());
    let words = ["run", &path, "--emulated-cost", "0 5000", "--trials", "5"];
    let run: Value = laboratory.document(&[&words[..], &["--seconds", "0.1", "--json"]].concat());
    assert_eq!(run["experiment"], "mine-emulated-cost");
    let check = |words: &[&str], expected: &[&str]| {
        let refused = laboratory.run(&[&["run"], words].concat()).with_code(2);
        refused.says(expected);
    };
    for table in ["1;1", "0 1 2", "a b", "0 1000001"] {
        check(
            &[&path, "--emulated-cost", table],
            &["expected off, ns", "\"0 2000\""],
        );
    }
    let many = vec!["9"; 200].join(" ");
    let many = vec![many.as_str(); 200].join("; ");
    check(
        &[&path, "--emulated-cost", &many],
        &["no row and column for each of node", "hint: "],
    );
    check(&["--emulated-cost", "0 1"], &["EXPERIMENT"]);
    let spin = ExperimentFile::new("one", "[load]\nwork = \"spin\"\nsessions = 1")
        .case("one", "emulated-cost = \"0 1\"");
    let path = laboratory.file("spin.toml", spin.text());
    check(
        &[&path],
        &["emulated-cost applies only to logical reads", "hint: "],
    );
}

#[test]
fn the_reads_of_a_held_instance_are_what_try_counts() {
    let laboratory = Laboratory::new();
    let one = ExperimentFile::new("one", SMALL).case("one", "emulated-cost = \"5000 5000\"");
    let path = laboratory.file("held.toml", one.text());
    let mut held = laboratory.start(&["run", &path, "--hold", "one", "--json"]);
    let document: Value = until("the document", || {
        assert!(!held.has_ended(), "it was not held: {}", held.stderr());
        serde_json::from_str(&held.stdout()).ok()
    });
    let pid = document["instance_pid"].to_string();
    let words = ["try", &pid, "--to", "current", "--by", "cost", "--json"];
    let tried = laboratory.document(&[&words[..], &["--window", "1", "--for", "20"]].concat());
    assert_eq!(tried["unit"], "logical read");
    assert!(tried["notes"].to_string().contains(LABEL), "{tried:#}");
    let windows = tried["windows"].as_array().unwrap();
    assert!(!windows.is_empty(), "{tried:#}");
    for window in windows {
        // A read costs 5 µs at least; others on this machine only make it longer.
        let figure = |key: &str| window[key].as_f64().unwrap();
        let ns = 1e9 * figure("cpu_s") / figure("work");
        assert!((4_000.0..50_000.0).contains(&ns), "{ns} ns: {window}");
    }
    held.signal(Signal::INT);
    held.finish().with_code(0);
    let ended = laboratory.run(&["try", &pid, "--to", "current"]);
    ended.with_code(2).says(&["no process of"]);
    laboratory.nothing_is_left();
}
