//! A/A test: two names for the same case must not yield a winner and a loser.
//!
//! Tests of stats, experiment.

use testing::not_run::say;
use testing::{Need, not_run};

use crate::experiment_file::ExperimentFile;
use crate::laboratory::Laboratory;

#[test]
fn the_same_case_under_two_names_is_a_tie() {
    const NAME: &str = "the_same_case_under_two_names_is_a_tie";
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("one", "[sga]\ncache = \"16MiB\"\n[load]\nsessions = 1")
        .case("one", "")
        .case("other", "");
    let path = laboratory.file("same.toml", experiment.text());
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.3"];
    // An interval of 93.75 % misses the truth in one of 16 runs; three in a row, in one of 4096.
    for attempt in 1..=3 {
        let run = laboratory.document(&words);
        if run["machine"]["emulated"] == true {
            let why = "the machine is emulated, and no speed of it is judged";
            return not_run(NAME, Need::Hardware, why);
        }
        let comparison = &run["comparisons"][0];
        assert_eq!(comparison["case"], "other");
        if comparison["verdict"] == "tie" {
            let verdict = run["verdict"].as_str().unwrap();
            assert!(verdict.starts_with("no difference"), "{verdict}");
            return laboratory.nothing_is_left();
        }
        say(&format!("attempt {attempt} of 3 was no tie: {comparison}"));
    }
    panic!("the same case twice was told apart in three runs");
}
