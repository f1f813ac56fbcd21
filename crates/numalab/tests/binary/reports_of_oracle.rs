//! Oracle's reports, imported, compared and explained: they reproduce the figures of the articles
//! to the digit.
//!
//! Tests of import, report.

use serde_json::Value;
use testing::reports;

use crate::laboratory::Laboratory;

/// Writes the tables of article 001 to files with the names that the article uses.
fn article_001(laboratory: &Laboratory) -> Vec<String> {
    let files = (1..).zip(reports::ARTICLE_001);
    let files = files.map(|(test, text)| laboratory.file(&format!("test{test}.txt"), text));
    files.collect()
}

/// Imports files; returns the run's id.
fn import(laboratory: &Laboratory, options: &[&str], files: &[String]) -> String {
    let files = files.iter().map(String::as_str);
    let words: Vec<&str> = ["import", "awr"]
        .into_iter()
        .chain(options.iter().copied())
        .chain(files)
        .collect();
    let finished = laboratory.run(&words).with_code(0);
    finished.stdout.trim_end().to_owned()
}

fn named<'d>(list: &'d Value, key: &str, name: &str) -> &'d Value {
    let found = list.as_array().unwrap().iter().find(|it| it[key] == name);
    found.unwrap_or_else(|| panic!("{name} is not in {list}"))
}

/// Formats a figure with this many decimals.
fn digits(figure: &Value, places: usize) -> String {
    format!("{:.places$}", figure.as_f64().unwrap())
}

#[test]
fn article_001_is_ranked_as_its_author_ranks_it_and_no_winner_is_named() {
    let laboratory = Laboratory::new();
    let run = import(&laboratory, &[], &article_001(&laboratory));
    let document = laboratory.document(&["show", &run, "--json"]);
    assert_eq!(document["status"], "imported");
    for absent in ["machine", "window_s", "calibration"] {
        assert_eq!(document[absent], Value::Null, "{absent}");
    }
    for case in document["cases"].as_array().unwrap() {
        for absent in ["placement", "rank", "low", "high"] {
            assert_eq!(case[absent], Value::Null, "{absent}");
        }
    }
    let explained = laboratory.document(&["explain", &run, "--json"]);
    let ranking: Vec<(&str, String)> = explained["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| {
            let rate = digits(&case["logical_reads_per_s"], 1);
            (case["name"].as_str().unwrap(), rate)
        })
        .collect();
    let expected = [
        ("test5", "8623444.6"),
        ("test1", "6323758.9"),
        ("test3", "5786023.5"),
        ("test4", "5182622.4"),
        ("test2", "3495618.2"),
    ];
    assert_eq!(
        ranking,
        expected.map(|(name, rate)| (name, rate.to_owned()))
    );
    let text = laboratory
        .run(&["show", &run, "--full"])
        .with_code(0)
        .stdout;
    assert!(text.contains("no winner: one imported trial of each case gives no interval"));
}

#[test]
fn caging_under_binding_lost_cpus_but_one_report_each_explains_nothing() {
    let laboratory = Laboratory::new();
    let options = ["--elapsed", "300", "--baseline", "test3"];
    let run = import(&laboratory, &options, &article_001(&laboratory));
    let document = laboratory.document(&["explain", &run, "--json"]);
    let lost = named(&document["differences"], "case", "test4");
    assert_eq!(lost["baseline"], "test3");
    assert_eq!(digits(&lost["lost_percent"], 1), "10.4");
    assert_eq!(lost["logical_reads"]["low"], Value::Null);
    assert_eq!(digits(&lost["cpus_delivered"]["case"], 2), "5.43");
    assert_eq!(digits(&lost["cpus_delivered"]["baseline"], 2), "5.92");
    assert_eq!(digits(&lost["cpus_delivered"]["ratio"], 3), "0.917");
    let cost = &lost["cpu_time_per_logical_read"];
    assert_eq!(digits(&cost["ratio"], 3), "1.024");
    assert_eq!(lost["shares"], Value::Null);
    assert_eq!(lost["larger_part"], Value::Null);
    let sentence = "test4 does 10.4 % fewer logical reads per second than test3 (0.896 times; one \
                    repetition of each gives no interval); not explained: too few trials";
    assert_eq!(lost["sentence"], sentence);
    let explained = laboratory.run(&["explain", &run]).with_code(0).stdout;
    let shown = laboratory.run(&["report", &run, "--markdown", "-"]);
    let shown = shown.with_code(0).stdout;
    for text in [explained, shown] {
        assert!(!text.contains("comes from"), "{text}");
    }
}

#[test]
fn without_the_interval_the_few_digits_of_the_load_profile_are_used_and_said() {
    let laboratory = Laboratory::new();
    let run = import(
        &laboratory,
        &["--baseline", "test3"],
        &article_001(&laboratory),
    );
    let document = laboratory.document(&["explain", &run, "--json"]);
    let cpus = &named(&document["differences"], "case", "test4")["cpus_delivered"];
    assert_eq!(
        (digits(&cpus["case"], 2), digits(&cpus["baseline"], 2)),
        ("5.40".into(), "5.90".into())
    );
    // 5.35 over 5.95, and 5.45 over 5.85.
    assert_eq!(digits(&cpus["digits_low"], 3), "0.899");
    assert_eq!(digits(&cpus["digits_high"], 3), "0.932");
}

#[test]
fn article_000_has_two_trials_of_each_case() {
    let laboratory = Laboratory::new();
    let files = [
        laboratory.file("local.txt", reports::ARTICLE_000_LOCAL),
        laboratory.file("remote.txt", reports::ARTICLE_000_REMOTE),
    ];
    let run = import(&laboratory, &["--elapsed", "180"], &files);
    let document = laboratory.document(&["show", &run, "--json"]);
    let medians: Vec<String> = document["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| digits(&case["median"], 2))
        .collect();
    assert_eq!(medians, ["4618725.10", "2168593.55"]);
    let (local, remote) = (format!("{run}:local"), format!("{run}:remote"));
    let compared = laboratory.document(&["compare", &remote, &local, "--json"]);
    let pair = &compared["comparisons"][0];
    // The author rounds before dividing and gets 2.15.
    assert_eq!(digits(&pair["ratio"], 2), "2.13");
    assert_eq!(
        (&pair["low"], &pair["verdict"]),
        (&Value::Null, &"undecided".into())
    );
    // Both kept 7.9 CPUs busy, so nearly all of the difference is cost; two trials cannot say.
    let explained = laboratory.document(&["explain", &run, "--json"]);
    let difference = &explained["differences"][0];
    assert_eq!(digits(&difference["cpus_delivered"]["ratio"], 2), "1.00");
    assert_eq!(difference["shares"], Value::Null);
}

#[test]
fn a_comparison_below_the_limit_ends_with_7() {
    let laboratory = Laboratory::new();
    let run = import(&laboratory, &[], &article_001(&laboratory));
    let (binding, both) = (format!("{run}:test3"), format!("{run}:test4"));
    let compare = |limit| laboratory.run(&["compare", &binding, &both, "--fail-below", limit]);
    compare("0.89").with_code(0);
    let failed = compare("0.9").with_code(7);
    assert!(failed.stdout.contains("10.4 % less"), "{}", failed.stdout);
    assert!(
        failed.stderr.contains("below 0.9 times the first: test4"),
        "{}",
        failed.stderr
    );
    // The same run twice: every case is as good as itself, and nothing is below.
    laboratory
        .run(&["compare", &run, &run, "--fail-below", "1"])
        .with_code(0);
}

#[test]
fn several_files_are_trials_of_a_case_and_five_of_them_carry_an_interval() {
    let laboratory = Laboratory::new();
    let mut words = vec!["import".to_owned(), "awr".to_owned()];
    for (name, text) in [
        ("a", reports::ARTICLE_001[2]),
        ("b", reports::ARTICLE_001[3]),
    ] {
        for trial in 0..5 {
            // One changed digit distinguishes the trials.
            let text = text.replace("5,786,0", &format!("5,78{trial},0"));
            let text = text.replace("5,182,6", &format!("5,18{trial},6"));
            let file = laboratory.file(&format!("{name}{trial}.txt"), text);
            words.extend(["--case".to_owned(), format!("{name}={file}")]);
        }
    }
    words.push("--json".to_owned());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let imported = laboratory.document(&words);
    assert_eq!(imported["format"], "numalab.import/1");
    let run = imported["run"].as_str().unwrap();
    let document = laboratory.document(&["show", run, "--json"]);
    let comparison = &document["comparisons"][0];
    assert_eq!(comparison["verdict"], "slower");
    assert!(comparison["low"].is_f64());
    let explained = laboratory.document(&["explain", run, "--json"]);
    let difference = &explained["differences"][0];
    assert!(difference["cpus_delivered"]["low"].is_f64());
    assert_eq!(difference["told_apart"], true);
}

#[test]
fn licences_divide_what_a_case_does() {
    let laboratory = Laboratory::new();
    let run = import(&laboratory, &[], &article_001(&laboratory));
    let unknown = laboratory
        .run(&["show", &run, "--core-factor", "0.5"])
        .with_code(2);
    assert!(
        unknown.stderr.contains("--licence-cores"),
        "{}",
        unknown.stderr
    );
    let words = [
        "show",
        &run,
        "--licence-cores",
        "80",
        "--price",
        "47500",
        "--json",
    ];
    let document = laboratory.document(&words);
    let best = &document["licences"][0];
    assert_eq!(
        (&best["case"], &best["licences"]),
        (&"test5".into(), &40.into())
    );
    assert_eq!(digits(&best["per_licence"], 2), "215586.11");
    assert_eq!(best["price"], 1_900_000.0);
    let words = [
        "show",
        &run,
        "--licence-cores",
        "80",
        "--cores-per-licence",
        "4",
    ];
    let text = laboratory.run(&words).with_code(0).stdout;
    assert!(
        text.contains("test5     80        20      431,172"),
        "{text}"
    );
}

#[test]
fn bad_reports_are_named_with_their_line() {
    let laboratory = Laboratory::new();
    let bad = reports::AWR_11G.replace("3,495,618.2", "3.495.618,2");
    let bad = laboratory.file("bad.txt", bad);
    let check = |words: &[&str], expected: &str| {
        let words: Vec<&str> = ["import", "awr"].iter().chain(words).copied().collect();
        let failed = laboratory.run(&words).with_code(2);
        assert!(failed.stderr.contains(expected), "{}", failed.stderr);
        assert_eq!(failed.stdout, "");
    };
    check(&[&bad], "bad.txt, line 28: expected a figure per second");
    check(&[], "required");
    check(&["nowhere.txt"], "cannot read the report nowhere.txt");
    check(&["--case", "x"], "expected NAME=FILE");
    check(&["/dev/zero"], "larger than 32 MiB");
    let good = laboratory.file("good.txt", reports::AWR_11G);
    check(
        &[&good, "--baseline", "other"],
        "no such case; the files have good",
    );
    check(
        &[&good, &good],
        "two files would become the same case: good",
    );
    let html = laboratory.file("page.txt", "<html>");
    check(
        &[&html],
        "expected \"</html>\" for the \"<html>\" on line 1",
    );
    // Nothing was stored.
    let history = laboratory.document(&["history", "--json"]);
    assert_eq!(history["runs"], Value::Array(Vec::new()));
}

#[test]
fn what_cannot_be_compared_or_explained_is_refused() {
    let laboratory = Laboratory::new();
    let run = import(&laboratory, &[], &article_001(&laboratory));
    let check = |words: &[&str], expected: &str| {
        let failed = laboratory.run(words).with_code(2);
        assert!(failed.stderr.contains(expected), "{}", failed.stderr);
    };
    check(
        &["compare", &run, &format!("{run}:test9")],
        "has no case test9; it has test1",
    );
    check(&["compare", &run, "20991231"], "no run");
    check(
        &["explain", &run, "--baseline", "test9"],
        "has test1, test2",
    );
    check(
        &["explain", &run, "--latency", "nowhere"],
        "cannot read the latencies nowhere",
    );
    check(
        &["compare", &run, &run, "--fail-below", "-1"],
        "expected a number above 0",
    );
}

#[test]
fn figures_that_contradict_one_another_are_a_warning_of_their_trial() {
    let laboratory = Laboratory::new();
    let damaged = reports::AWR_19C.replacen("52.86s", "52.86ms", 1);
    let files = [
        laboratory.file("whole.txt", reports::AWR_19C),
        laboratory.file("damaged.txt", damaged),
    ];
    let run = import(&laboratory, &[], &files);
    let document = laboratory.document(&["show", &run, "--json"]);
    let expected = "enq: TX - row lock contention: 120 waits of 52.86 ms take 6.3 s, not 6343.2 s";
    for (case, warnings) in [("whole", vec![]), ("damaged", vec![expected])] {
        let trial = &named(&document["cases"], "name", case)["trials"][0];
        assert_eq!(trial["warnings"], serde_json::json!(warnings), "{case}");
    }
    let text = laboratory
        .run(&["show", &run, "--full"])
        .with_code(0)
        .stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("120 waits of 52.86 ms take 6.3 s"), "{text}");
}

#[test]
fn reports_in_html_and_text_are_cases_of_one_run() {
    let laboratory = Laboratory::new();
    let files = [
        laboratory.file("text.txt", reports::AWR_11G),
        laboratory.file("html.html", reports::AWR_11G_HTML),
    ];
    let run = import(&laboratory, &[], &files);
    let explained = laboratory.document(&["explain", &run, "--json"]);
    let rate = |name| named(&explained["cases"], "name", name)["logical_reads_per_s"].clone();
    assert_eq!(rate("text"), 3_495_618.2);
    assert_eq!(rate("html"), rate("text"));
}
