//! `numalab move` and `numalab pages` on this machine: meaningless or forbidden requests are
//! refused by name and change nothing. What the commands do is tested on machines with several
//! nodes, in guests.

use std::fs;

use serde_json::Value;
use testing::{Need, not_run};

use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::running::Running;
use crate::unmet_need::is_guest;

#[test]
fn a_move_that_means_nothing_is_refused() {
    let laboratory = Laboratory::new();
    let sleeper = Running::start(&["sleep", "600"]);
    let pid = sleeper.pid();
    let check = |words: &[&str], code: i32, expected: &str| {
        let words: Vec<_> = ["move"].iter().chain(words).copied().collect();
        laboratory.run(&words).with_code(code).says(&[expected]);
    };
    check(&[&pid, "--to", "4095"], 2, "there is no node 4095");
    check(
        &[&pid, "--to", "interleave=0,4095"],
        2,
        "there is no node 4095",
    );
    check(&[&pid, "--to", "interleave="], 2, "no node is named");
    check(&[&pid, "--to", "spread=0:0"], 2, "expected weights from 1");
    check(
        &[&pid, "--to", "spread=0:1,0:2"],
        2,
        "node 0 has two weights",
    );
    check(&[&pid, "--to", "!0"], 2, "!0");
    check(&[&pid, "--to", "0", "--mib-per-s", "0"], 2, "--mib-per-s");
    check(
        &[&pid, "--to", "0", "--segment", "none"],
        2,
        "no shared memory called \"none\"",
    );
    check(&["4000000000", "--to", "0"], 2, "4000000000");
    check(&["unit:none", "--to", "0"], 2, "unit:none");
    let listed = laboratory.run(&["undo", "--list"]).with_code(0);
    assert_eq!(listed.stdout, "no changes in force\n");
}

/// Asserts that `numalab pages` refuses impossible requests with these texts and changes nothing.
#[track_caller]
fn refused_pages(refusals: &[(&[&str], &str)]) {
    let laboratory = Laboratory::new();
    for (words, expected) in refusals {
        let words: Vec<_> = ["pages"].iter().chain(*words).copied().collect();
        let refused = laboratory.run(&words);
        assert!(
            [2, 3].contains(&refused.status.code().unwrap()),
            "{words:?}"
        );
        refused.says(&[expected]);
    }
    let listed = laboratory.run(&["undo", "--list"]).with_code(0);
    assert_eq!(listed.stdout, "no changes in force\n");
}

#[test]
fn a_tmpfs_that_cannot_be_is_refused() {
    refused_pages(&[
        (&["--tmpfs", "/no/such/place"], "no tmpfs is mounted at"),
        (&["--mpol", "local"], "--tmpfs"),
    ]);
}

#[test]
fn pools_that_cannot_be_are_refused() {
    if !std::path::Path::new("/sys/kernel/mm/hugepages").exists() {
        let test = "pools_that_cannot_be_are_refused";
        return not_run(test, Need::Kernel, "the kernel has no huge pages");
    }
    refused_pages(&[
        (&["--set", "4095=1"], "there is no node 4095"),
        (&["--set", "0"], "expected a node and a number of pages"),
        (&["--set", "0=-1"], "expected a number of pages"),
        (&["--set", "0=1,0=2"], "node 0 is named twice"),
        (&["--set", "0=99999999999999"], "exceed the"),
        (
            &["--size", "3M", "--for", "1G"],
            "does not support huge pages of 3 MiB",
        ),
        (
            &["--for", "1G", "--placement", "4095"],
            "there is no node 4095",
        ),
    ]);
}

/// Holds 64 MiB.
const HOLDS: &str = "held = bytearray(b'x') * (64 << 20)\nimport time\ntime.sleep(600)\n";

#[test]
fn the_trace_of_a_move_has_what_was_moved_and_where_it_is() {
    let test = "the_trace_of_a_move_has_what_was_moved_and_where_it_is";
    if !is_guest(test, "two-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let words = ["numactl", "--membind=0", "/usr/bin/python3", "-c", HOLDS];
    let holder = Running::start(&words);
    let pid = holder.pid();
    until("64 MiB are held", || {
        let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
        (pages > (64 << 20) / 4096).then_some(())
    });
    let file = laboratory.state().join("trace.json");
    let path = file.display().to_string();
    let options = ["--to", "1", "--private", "--mib-per-s", "64", "--json"];
    let words = [&["move", &pid, "--perfetto", &path][..], &options].concat();
    let moved = laboratory.document(&words);
    let trace: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |name: &str| {
        let events = events.iter().filter(|event| event["name"] == name);
        events.map(|event| &event["args"]).collect::<Vec<_>>()
    };
    let steps = of("bytes moved");
    assert!(steps.len() > 5, "{steps:?}");
    assert_eq!(steps[0]["value"], 0);
    let last = steps.last().unwrap()["value"].as_u64().unwrap();
    assert!(last >= 64 << 20, "{last}: {moved:#}");
    let memory = of(&format!("{pid} bytes by node"));
    let before = memory[0]["node 0"].as_u64().unwrap();
    assert!(before >= 64 << 20, "{memory:?}");
}
