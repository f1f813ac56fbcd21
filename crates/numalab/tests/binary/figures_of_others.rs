//! Figures that others measured, imported from a table, and judged like numalab's own.
//!
//! Tests of report, import, store.

use serde_json::Value;

use crate::laboratory::Laboratory;

/// Imports a table; returns the document of its run.
fn import(laboratory: &Laboratory, table: &str, options: &[&str]) -> Value {
    let file = laboratory.file("figures.csv", table);
    let words: Vec<&str> = ["import", "csv", &file]
        .iter()
        .chain(options)
        .copied()
        .collect();
    let imported = laboratory.run(&words).with_code(0);
    laboratory.document(&["show", imported.stdout.trim_end(), "--json"])
}

/// A table of six trials of each case; `far` has `factor` times the figure of `near`, and both of a
/// round go up and down together.
fn table(factor: f64) -> String {
    let mut table = String::from("case,round,tps\n");
    for (round, noise) in [0.80, 1.10, 0.95, 1.20, 0.90, 1.05].iter().enumerate() {
        let near = 1000.0 * noise;
        let far = near * factor * (1.0 + 0.002 * (round % 2) as f64);
        table.push_str(&format!("near,{round},{near}\nfar,{round},{far}\n"));
    }
    table
}

#[test]
fn figures_of_others_are_judged_and_what_is_unknown_stays_unknown() {
    let laboratory = Laboratory::new();
    let run = import(
        &laboratory,
        &table(0.5),
        &["--figure-column", "tps", "--unit", "tps"],
    );
    assert_eq!(
        (&run["status"], &run["metric"]),
        (&"imported".into(), &"gain".into())
    );
    for absent in ["machine", "window_s", "calibration"] {
        assert_eq!(run[absent], Value::Null, "{absent}");
    }
    for case in run["cases"].as_array().unwrap() {
        assert_eq!(
            (&case["trials_valid"], &case["placement"]),
            (&6.into(), &Value::Null)
        );
        for trial in case["trials"].as_array().unwrap() {
            assert_eq!(trial["window_s"], Value::Null, "{trial:#}");
        }
    }
    let compared = &run["comparisons"][0];
    assert_eq!(
        (&compared["case"], &compared["verdict"]),
        (&"far".into(), &"slower".into())
    );
    assert!(
        (compared["ratio"].as_f64().unwrap() - 0.5).abs() < 0.01,
        "{compared:#}"
    );
    let shown = laboratory
        .run(&["show", "last", "--full"])
        .with_code(0)
        .stdout;
    assert!(
        shown.contains("tps") && shown.contains("figures.csv"),
        "{shown}"
    );
    let less = import(
        &laboratory,
        &table(0.5),
        &["--figure-column", "tps", "--less-is-better"],
    );
    assert_eq!(less["comparisons"][0]["verdict"], "faster");
}

/// Unpaired, noise of a quarter hides 3 %; paired, it does not.
#[test]
fn rounds_pair_trials_only_where_they_are_named() {
    let laboratory = Laboratory::new();
    let columns = ["--figure-column", "tps"];
    let apart = import(&laboratory, &table(0.97), &columns);
    assert_ne!(apart["comparisons"][0]["verdict"], "slower", "{apart:#}");
    let paired = [&columns[..], &["--round-column", "round"]].concat();
    let paired = import(&laboratory, &table(0.97), &paired);
    assert_eq!(paired["comparisons"][0]["verdict"], "slower", "{paired:#}");
}

#[test]
fn one_trial_has_no_interval_and_wins_nothing() {
    let laboratory = Laboratory::new();
    let run = import(&laboratory, "case,figure\na,10\nb,5\n", &[]);
    let compared = &run["comparisons"][0];
    assert_eq!(
        (&compared["verdict"], &compared["ratio"], &compared["low"]),
        (&"undecided".into(), &0.5.into(), &Value::Null)
    );
}

#[test]
fn a_table_that_cannot_be_read_is_refused_with_its_line() {
    let laboratory = Laboratory::new();
    let refused = |table: &str, options: &[&str], says: &[&str]| {
        let file = laboratory.file("refused.csv", table);
        let words: Vec<&str> = ["import", "csv", &file]
            .iter()
            .chain(options)
            .copied()
            .collect();
        laboratory.run(&words).with_code(2).says(says);
    };
    refused(
        "case,figure\na,12 MB\n",
        &[],
        &["refused.csv", "line 2", "--unit"],
    );
    refused(
        "case;figure\na;1\n",
        &[],
        &["a column \"case\"", "--separator"],
    );
    refused(
        "case;figure\na;\n",
        &["--separator", ";"],
        &["line 2", "a number above 0"],
    );
    refused("case,figure\na,1", &[], &["a line break at the end"]);
    refused(
        "case,figure\na,1\n",
        &["--baseline", "b"],
        &["no such case; the files have a"],
    );
    refused(
        "case,figure\na,1\n",
        &["--separator", "ab"],
        &["one character"],
    );
    laboratory
        .run(&["import", "csv", "/nonexistent.csv"])
        .with_code(2)
        .says(&["/nonexistent.csv"]);
    assert_eq!(
        laboratory
            .run(&["history"])
            .with_code(0)
            .stdout
            .lines()
            .count(),
        0
    );
}
