//! The kinds of shared memory that can back an SGA, chosen in a user's experiment file.
//!
//! Tests of instance, linux.

use testing::{Need, not_run};

use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::Laboratory;

#[test]
fn every_backing_and_every_allocation_carries_an_sga() {
    const NAME: &str = "every_backing_and_every_allocation_carries_an_sga";
    let laboratory = Laboratory::new();
    const MEMFD: &str = "/memfd:numalab-sga";
    let mut cases = vec![
        ("segment", "sysv", "bind:first-node", "/SYSV6e6c", "bind:"),
        ("memfd", "memfd", "interleave:all", MEMFD, "interleave:"),
        ("file", "shm", "prefer:first-node", "/dev/shm/", "prefer:"),
        ("pools", "memfd", "per-node:all", MEMFD, "interleave:"),
    ];
    let weights = linux::kernel_settings::interleave_weights(&linux::Root::live()).unwrap();
    if weights.is_some() {
        let (allocation, policy) = ("weighted-interleave:all", "weighted interleave:");
        cases.push(("weights", "shm", allocation, "/dev/shm/", policy));
    } else {
        let why = "in part: the kernel has no weighted interleave";
        not_run(NAME, Need::Kernel, why);
    }
    let mut experiment = ExperimentFile::new("segment", SMALL);
    for (name, backing, allocation, ..) in &cases {
        let keys = format!("backing = \"{backing}\"\nallocation = \"{allocation}\"");
        experiment = experiment.case(name, &keys);
    }
    let path = laboratory.file("backings.toml", experiment.text());
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.2"];
    let run = laboratory.document(&words);
    assert_eq!(run["definition"], experiment.text());
    for (case, (name, backing, _, segment, policy)) in
        run["cases"].as_array().unwrap().iter().zip(cases)
    {
        assert_eq!(
            (
                &case["name"],
                &case["work"]["logical-reads"]["sga"]["backing"]
            ),
            (&name.into(), &backing.into())
        );
        assert_eq!(case["trials_valid"], 5, "{case:#}");
        for trial in case["trials"].as_array().unwrap() {
            let sga = &trial["evidence"]["sga"];
            let begins = |key: &str, with| sga[key].as_str().unwrap().starts_with(with);
            assert!(begins("name", segment) && begins("policy", policy), "{sga}");
            assert_eq!(sga["page_bytes"], linux::process::page_bytes());
            let pools = sga["pools"].as_array().map_or(0, Vec::len);
            assert_eq!(pools > 0, name == "pools", "{sga}");
        }
    }
    laboratory.nothing_is_left();
}
