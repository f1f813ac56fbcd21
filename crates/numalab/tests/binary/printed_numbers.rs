//! The numbers of programs as they print them: units, prefixes, separators, and expressions that
//! select the wrong number.
//!
//! Tests of experiment, report.

use crate::busy::Busy;
use crate::experiment_file::ExperimentFile;
use crate::finished::Finished;
use crate::laboratory::Laboratory;
use crate::patience::until;

/// Runs two programs that print these texts; `keys` are those of the load.
fn run(laboratory: &Laboratory, keys: &str, slow: &str, fast: &str) -> Finished {
    let load = format!("[load]\nsessions = 1\nwork = \"command\"\n{keys}");
    let experiment = ExperimentFile::new("slow", &load)
        .case("slow", &format!("command = \"echo '{slow}'\""))
        .case("fast", &format!("command = \"echo '{fast}'\""));
    let path = laboratory.file("printed.toml", experiment.text());
    laboratory.run(&["run", &path, "--trials", "5", "--json"])
}

/// The medians of both, and what was said meanwhile.
fn medians(laboratory: &Laboratory, keys: &str, slow: &str, fast: &str) -> ([f64; 2], String) {
    let done = run(laboratory, keys, slow, fast).with_code(0);
    let cases = done.document()["cases"].clone();
    let median = |index: usize| cases[index]["median"].as_f64().unwrap();
    ([median(0), median(1)], done.stderr)
}

#[test]
fn units_and_decimal_commas_of_a_program_are_read() {
    let laboratory = Laboratory::new();
    let fio = "number = 'regex:avg ([0-9.]+[a-z]+)'\nunit = \"us\"\nbetter = \"less\"";
    let (read, said) = medians(&laboratory, fio, "avg 1.02ms", "avg 635.91us");
    assert_eq!(read, [1020.0, 635.91]);
    // Once in a run: the order of its cases is random.
    let lines = [
        "slow: read 1020 us from \"avg 1.02ms\"",
        "fast: read 635.91 us from \"avg 635.91us\"",
    ];
    let count = |line: &&str| said.matches(line).count();
    assert_eq!(lines.iter().map(count).sum::<usize>(), 1, "{said}");
    let shown = laboratory
        .run(&["show", "last", "--full"])
        .with_code(0)
        .stdout;
    let words: Vec<&str> = shown.split_whitespace().collect();
    let words = words.join(" ");
    for read in ["1020 us from", "635.91 us from"] {
        assert!(
            words.contains(&format!("first number read: {read}")),
            "{words}"
        );
    }
    let rate = "number = 'last'\nunit = \"IOPS\"";
    let (read, _) = medians(&laboratory, rate, "IOPS=998k", "IOPS=1.02M");
    assert_eq!(read, [998_000.0, 1_020_000.0]);
    let tps = "number = 'last'\nunit = \"tps\"";
    let (read, _) = medians(&laboratory, tps, "tps = 1234,56", "tps = 1534,5");
    assert_eq!(read, [1234.56, 1534.5]);
    laboratory.nothing_is_left();
}

#[test]
fn a_number_that_is_none_of_the_unit_or_may_be_two_is_refused_with_its_line() {
    let laboratory = Laboratory::new();
    let tps = "number = 'last'\nunit = \"tps\"";
    let refused = |slow: &str, fast: &str, says: &[&str]| {
        run(&laboratory, tps, slow, fast).with_code(8).says(says);
    };
    // The case that found it: `last` is the seconds.
    refused(
        "tps 1000 in 60 s",
        "tps 2000 in 60 s",
        &["\"tps 1000 in 60 s\" has 60", "its unit is \"s\""],
    );
    refused(
        "tps 1,234",
        "tps 1,534",
        &["\"tps 1,234\" has 1,234", "LC_ALL=C"],
    );
    laboratory.nothing_is_left();
}

#[test]
fn a_program_measured_anyway_on_a_busy_machine_says_so_everywhere() {
    let mut laboratory = Laboratory::new();
    laboratory.mind_others();
    let load = "[load]\nsessions = 1\nwork = \"command\"";
    let experiment = ExperimentFile::new("one", load)
        .case("one", "command = \"echo 1\"")
        .case("two", "command = \"echo 2\"");
    let path = laboratory.file("busy.toml", experiment.text());
    let words = ["run", &path, "--trials", "5"];
    let _busy = Busy::everywhere();
    // The machine is watched before each run, and seen busy as soon as the others have begun.
    let refused = until("the machine is seen busy", || {
        let refused = laboratory.run(&words);
        (refused.status.code() == Some(5)).then_some(refused)
    });
    refused.says(&["other", "--anyway; the result says so"]);
    let words = [&words[..], &["--anyway"]].concat();
    let said = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        assert!(text.contains("measured with --anyway: "), "{text}");
        assert!(text.contains("limit"), "{text}");
    };
    said(&laboratory.run(&words).with_code(0).stdout);
    said(&laboratory.run(&["show", "last"]).with_code(0).stdout);
    said(
        &laboratory
            .run(&["report", "last", "--markdown", "-"])
            .with_code(0)
            .stdout,
    );
    said(
        &laboratory
            .run(&["report", "last", "--html", "-"])
            .with_code(0)
            .stdout,
    );
    let document = laboratory.document(&["show", "last", "--json"]);
    said(&document["warnings"].to_string());
}

#[test]
fn the_same_number_in_every_trial_of_every_case_is_an_error() {
    let laboratory = Laboratory::new();
    let tps = "number = 'last'\nunit = \"tps\"";
    let done = run(
        &laboratory,
        tps,
        "tps 1000 of 60 clients",
        "tps 2000 of 60 clients",
    );
    done.with_code(8).says(&[
        "`last` read 60 tps from",
        "of 60 clients",
        "in every trial of every case",
    ]);
    let run = laboratory.newest_run();
    assert_eq!(run["status"], "failed");
    assert_eq!(run["cases"][0]["trials"].as_array().unwrap().len(), 3);
    laboratory.nothing_is_left();
}
