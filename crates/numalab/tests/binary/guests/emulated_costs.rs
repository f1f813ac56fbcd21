//! An emulated cost in guests: `numalab run` finds the table, which it does not know, from where a
//! real kernel has put the memory. Figures are the table's, and none of hardware.
//!
//! Tests of experiment, instance.

use rustix::process::Signal;
use serde_json::Value;
use testing::not_run::say;

use super::cures::nodes;
use super::kernel_setting::pages_stay_where_they_are;
use crate::experiment_file::ExperimentFile;
use crate::laboratory::Laboratory;
use crate::patience::until;

/// The cost of a local read, and what each node on the way adds: so much that the time of the read
/// itself hardly matters, ns.
const LOCAL_NS: f64 = 20_000.0;
const HOP_NS: f64 = 15_000.0;
/// What the emulated CPUs of a busy host may add to a ratio.
const MARGIN: f64 = 0.1;

/// What a block costs.
fn cost(from: usize, to: usize) -> f64 {
    LOCAL_NS + HOP_NS * from.abs_diff(to) as f64
}

/// An experiment on one CPU of the first node with the table, without cases.
fn experiment(nodes: usize) -> (ExperimentFile, String) {
    let row = |from| {
        (0..nodes)
            .map(|to| cost(from, to).to_string())
            .collect::<Vec<_>>()
    };
    let rows: Vec<String> = (0..nodes).map(|from| row(from).join(" ")).collect();
    let defaults = "[placement]\ncpus = \"first-node:1\"\n[sga]\ncache = \"4MiB\"\n[load]\n\
                    sessions = 1\nwork-unit = 4";
    let table = format!("emulated-cost = \"{}\"", rows.join("; "));
    (ExperimentFile::new("local", defaults).about_memory(), table)
}

#[test]
fn a_run_finds_the_table_from_where_memory_is() {
    let Some(nodes) = nodes("a_run_finds_the_table_from_where_memory_is") else {
        return;
    };
    let (experiment, table) = experiment(nodes);
    let last = nodes - 1;
    let with = |allocation: &str| format!("allocation = \"{allocation}\"\n{table}");
    let experiment = experiment
        .case("local", &with("bind:0"))
        .case("far", &with(&format!("bind:{last}")))
        .case("spread", &with("interleave:all"))
        .case("free", "allocation = \"bind:0\"");
    let laboratory = Laboratory::new();
    let path = laboratory.file("cost.toml", experiment.text());
    // A busy host makes intervals wide; more trials make them narrower.
    let is_found = ["6", "12", "24"].iter().any(|trials| {
        let words = ["run", &path, "--json", "--trials", trials, "--seconds", "1"];
        let run = laboratory.document(&words);
        assert_eq!(run["experiment"], "mine-emulated-cost");
        agrees(&run, nodes)
    });
    assert!(is_found, "no run found the table");
}

/// Whether the run tells placements apart, and its intervals hold what the table says of them.
fn agrees(run: &Value, nodes: usize) -> bool {
    let last = nodes - 1;
    let mut cases = run["cases"].as_array().unwrap().iter();
    let free = cases.find(|it| it["name"] == "free").unwrap();
    let own_ns = 1e9 / free["median"].as_f64().unwrap_or_else(|| panic!("{run:#}"));
    let mean = (0..nodes).map(|to| cost(0, to)).sum::<f64>() / nodes as f64;
    let of_case = |(case, far_ns): (&str, f64)| {
        let mut found = run["comparisons"].as_array().unwrap().iter();
        let found: &Value = found.find(|it| it["case"] == case).unwrap();
        let end = |key: &str| found[key].as_f64().unwrap();
        let expected = (own_ns + LOCAL_NS) / (own_ns + far_ns);
        let (ratio, low, high) = (end("ratio"), end("low"), end("high"));
        say(&format!(
            "{case}: {ratio:.3} ({low:.3} to {high:.3}), {expected:.3} by the table; a read is \
             {own_ns:.0} ns"
        ));
        let (low, high) = (low * (1.0 - MARGIN), high * (1.0 + MARGIN));
        found["verdict"] == "slower" && low <= expected && expected <= high
    };
    [("far", cost(0, last)), ("spread", mean)]
        .into_iter()
        .all(of_case)
}

#[test]
fn try_finds_what_the_table_gives_and_predict_bounds_it() {
    let Some(nodes) = nodes("try_finds_what_the_table_gives_and_predict_bounds_it") else {
        return;
    };
    let (experiment, table) = experiment(nodes);
    let last = nodes - 1;
    let far = format!("allocation = \"prefer:{last}\"\n{table}");
    let experiment = experiment.case("local", &far);
    let laboratory = Laboratory::new();
    let _settings = pages_stay_where_they_are();
    let path = laboratory.file("cost.toml", experiment.text());
    let mut held = laboratory.start(&["run", &path, "--hold", "local", "--json"]);
    let document: Value = until("the document", || {
        assert!(!held.has_ended(), "it was not held: {}", held.stderr());
        serde_json::from_str(&held.stdout()).ok()
    });
    assert!(document["emulated_cost"].is_object(), "{document}");
    let pid = document["instance_pid"].to_string();
    let predicted = laboratory.document(&["predict", &pid, "--to", "0", "--json"]);
    let words = ["try", &pid, "--to", "0", "--by", "cost", "--json"];
    let short = ["--window", "1", "--for", "200", "--seed", "7"];
    let tried = laboratory.document(&[&words[..], &short].concat());
    let found = &tried["placements"][0];
    let figure = |key: &str| found[key].as_f64().unwrap_or_else(|| panic!("{tried:#}"));
    let (ratio, low, high) = (figure("ratio"), figure("ratio_low"), figure("ratio_high"));
    let by_table = cost(0, last) / cost(0, 0);
    say(&format!(
        "try: {ratio:.3} ({low:.3} to {high:.3}), at most {by_table:.3} by the table"
    ));
    assert_eq!(found["verdict"], "better");
    // The time of the read itself makes it a little less.
    assert!(low <= by_table && high >= 0.8 * by_table, "{tried:#}");
    let notes = tried["notes"].to_string();
    assert!(notes.contains("emulated cost"), "{notes}");
    // The firmware's distances know nothing of the table; only what they say of the memory is.
    let after = &predicted["placements"][0]["after"];
    assert!(
        after["remote_share"].as_f64().unwrap() < 0.2,
        "{predicted:#}"
    );
    held.signal(Signal::INT);
    held.finish().with_code(0);
    laboratory.nothing_is_left();
}
