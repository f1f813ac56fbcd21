//! The kinds of shared memory behind an SGA, chosen in a user's own experiment file.

use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::Laboratory;

#[test]
fn system_v_segments_and_memfds_both_carry_an_sga() {
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("segment", SMALL)
        .case(
            "segment",
            "backing = \"sysv\"\nallocation = \"bind:first-node\"",
        )
        .case(
            "memfd",
            "backing = \"memfd\"\nallocation = \"interleave:all\"",
        );
    let path = laboratory.file("backings.toml", experiment.text());
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.2"];
    let run = laboratory.document(&words);
    assert_eq!(run["definition"], experiment.text());
    for (number, backing, name, policy) in [
        (0, "sysv", "/SYSV00000000", "bind:"),
        (1, "memfd", "/memfd:numalab-sga", "interleave:"),
    ] {
        let case = &run["cases"][number];
        assert_eq!(case["work"]["logical-reads"]["sga"]["backing"], backing);
        assert_eq!(case["trials_valid"], 5, "{case:#}");
        for trial in case["trials"].as_array().unwrap() {
            let sga = &trial["evidence"]["sga"];
            let begins = |key: &str, with| sga[key].as_str().unwrap().starts_with(with);
            assert!(begins("name", name) && begins("policy", policy), "{sga}");
            assert_eq!(sga["page_bytes"], linux::process::page_bytes());
        }
    }
    laboratory.nothing_is_left();
}
