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

/// Two cases in six rounds that go up and down together; `far` is 3 % behind, give or take 2 %.
const PAIRS: [(&str, f64, f64); 6] = [
    ("SET", 298.5, 291.0),
    ("GET", 372.5, 359.4),
    ("INCR", 120.4, 117.9),
    ("LPUSH", 801.2, 773.1),
    ("LRANGE", 41.3, 40.3),
    ("MSET", 12.9, 12.4),
];

#[test]
fn declared_pairs_have_the_interval_of_pairs() {
    let laboratory = Laboratory::new();
    let mut rows = String::from("test,case,figure\n");
    for (test, near, far) in PAIRS {
        rows.push_str(&format!("{test},near,{near}\n{test},far,{far}\n"));
    }
    let run = import(&laboratory, &rows, &["--round-column", "test"]);
    let compared = &run["comparisons"][0];
    let pairs: (Vec<_>, Vec<_>) = PAIRS
        .iter()
        .map(|(_, near, far)| (Some(*near), Some(*far)))
        .unzip();
    let expected = stats::ratio_of_pairs(&pairs.1, &pairs.0, 0.95).unwrap();
    let ends = [
        ("ratio", expected.ratio),
        ("low", expected.interval.low),
        ("high", expected.interval.high),
    ];
    for (end, expected) in ends {
        let found = compared[end].as_f64().unwrap();
        assert!(
            (found / expected - 1.0).abs() < 1e-9,
            "{end}: {found}, not {expected}"
        );
    }
    // The names of rounds are kept.
    let definition = run["definition"].as_str().unwrap();
    assert!(definition.contains("round 5 = \"MSET\""), "{definition}");

    // The same with a column for each case.
    let mut wide = String::from("test,near,far\n");
    for (test, near, far) in PAIRS {
        wide.push_str(&format!("{test},{near},{far}\n"));
    }
    let run = import(&laboratory, &wide, &[]);
    assert_eq!(&run["comparisons"][0]["low"], &compared["low"]);
    assert_eq!(&run["comparisons"][0]["verdict"], "slower");
    let run = import(
        &laboratory,
        &wide,
        &["--case-columns", "far,near", "--round-column", "test"],
    );
    assert_eq!(run["baseline"], "far");
}

#[test]
fn a_column_for_each_case_is_read_and_said() {
    let laboratory = Laboratory::new();
    let table = "command,old,new\nSET-10,298540.59,301242.02\nGET-10,372522.05,356490.26\n";
    let file = laboratory.file("wide.csv", table);
    let imported = laboratory.run(&["import", "csv", &file, "--baseline", "new"]);
    let imported = imported.with_code(0);
    assert!(
        imported
            .stderr
            .contains("a column for each case (old, new)"),
        "{}",
        imported.stderr
    );
    let run = laboratory.document(&["show", imported.stdout.trim_end(), "--json"]);
    let compared = &run["comparisons"][0];
    // The mean of what old is of new in each row: 0.991 and 1.045.
    let ratio = compared["ratio"].as_f64().unwrap();
    assert!((ratio - 1.0177).abs() < 1e-4, "{compared:#}");
    assert_eq!(
        (&compared["case"], &compared["verdict"]),
        (&"old".into(), &"undecided".into())
    );
}

#[test]
fn other_encodings_and_impossible_figures_of_a_table_are_no_riddle() {
    let laboratory = Laboratory::new();
    let table = table(0.5).replace("tps", "figure");
    let right = import(&laboratory, &table, &[]);
    let utf_16 = table
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect::<Vec<u8>>();
    let forms = [
        [b"\xff\xfe".to_vec(), utf_16].concat(),
        table.replace('\n', "\r").into_bytes(),
    ];
    for bytes in forms {
        let file = laboratory.file("figures.csv", bytes);
        let imported = laboratory.run(&["import", "csv", &file]).with_code(0);
        let run = laboratory.document(&["show", imported.stdout.trim_end(), "--json"]);
        assert_eq!(run["comparisons"], right["comparisons"]);
    }
    let file = laboratory.file("tiny.csv", "case,figure\na,2\nb,1e-308\n");
    let refused = laboratory.run(&["import", "csv", &file]).with_code(2);
    refused.says(&["line 3", "a number from 1e-150 to 1e150", "1e-308"]);
}
