//! Weights of interleaving: set from bandwidths, followed by memory that is moved and by memory
//! that is allocated later, and taken back, also after kills. The kernel's own files say what is in
//! force. On a kernel without weights, both commands say so and change nothing.
//!
//! Tests of placement, relocation.

use std::fs;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::time::Duration;

use super::holder::{Holder, placed};
use super::kernel_setting::{KernelSettings, pages_stay_where_they_are};
use crate::laboratory::Laboratory;
use crate::unmet_need::is_guest;
use crate::user::{NOBODY, User};

/// What `numalab bandwidth --json` says of a machine with fast and slow memory, as far as it is
/// needed: 200 and 100 GB/s from node 0, and from node 1 the other way round.
const BANDWIDTH: &str = r#"
{"format": "numalab.bandwidth/1", "cpu_nodes": [0, 1], "memory_nodes": [0, 1],
 "bytes_per_s": [[2e11, 1e11], [1e11, 2e11]]}
"#;
const OPTIONS: [&str; 4] = ["firmware", "--weights", "--from", "bandwidth.json"];
const OF_NODE_0: [&str; 2] = ["--cpu-nodes", "0"];
/// 12 MiB are 3072 pages: 2048 and 1024 by weights of 2 and 1.
const MIB: u64 = 12;
const BOUND: &str = "bind:0 N0=3072";
const WEIGHTED: &str = "weighted interleave:0-1 N0=2048 N1=1024";
const WEIGHT_OF_NODE_1: &str = "/sys/kernel/mm/mempolicy/weighted_interleave/node1";

/// Returns the weights that are in force.
fn weights() -> [u8; 2] {
    [
        WEIGHT_OF_NODE_1.replace("node1", "node0").as_str(),
        WEIGHT_OF_NODE_1,
    ]
    .map(|file| fs::read_to_string(file).unwrap().trim().parse().unwrap())
}

/// Returns a laboratory with the bandwidths, in a guest whose kernel shall have weights or not.
#[track_caller]
fn laboratory(test: &str, has_weights: bool) -> Option<Laboratory> {
    if !is_guest(test, "two-node") {
        return None;
    }
    assert_eq!(
        fs::exists(WEIGHT_OF_NODE_1).unwrap(),
        has_weights,
        "{WEIGHT_OF_NODE_1}"
    );
    let laboratory = Laboratory::new();
    laboratory.file("bandwidth.json", BANDWIDTH);
    Some(laboratory)
}

/// Sets the weights that the CPUs of node 0 need.
#[track_caller]
fn set(laboratory: &Laboratory) {
    let words = [&OPTIONS[..], &OF_NODE_0, &["--set"]].concat();
    laboratory.run(&words).with_code(0);
    assert_eq!(weights(), [2, 1]);
}

/// Takes them back.
#[track_caller]
fn undo(laboratory: &Laboratory) {
    laboratory.run(&["undo"]).with_code(0);
    assert_eq!(weights(), [1, 1]);
}

/// Starts two processes on node 1 with shared memory on node 0.
fn holder(mib: u64) -> Holder {
    Holder::start(
        &["numactl", "--membind=0", "--cpunodebind=1"],
        mib,
        2,
        "memfd",
    )
}

#[test]
fn weights_are_set_from_bandwidths_and_taken_back() {
    let test = "weights_are_set_from_bandwidths_and_taken_back";
    let Some(laboratory) = laboratory(test, true) else {
        return;
    };
    assert_eq!(weights(), [1, 1]);
    let show = [&OPTIONS[..], &OF_NODE_0].concat();
    laboratory.run(&show).with_code(0);
    assert_eq!(weights(), [1, 1], "only shown");
    let of_all = [&OPTIONS[..], &["--set"]].concat();
    laboratory.run(&of_all).with_code(0);
    assert_eq!(weights(), [1, 1], "both nodes are alike to all CPUs");
    set(&laboratory);
    let again = [&show[..], &["--set"]].concat();
    let again = laboratory.run(&again).with_code(0);
    let said = format!("{}{}", again.stdout, again.stderr);
    assert_eq!(said.matches("in force already").count(), 1, "{said}");
    undo(&laboratory);
    set(&laboratory);
    fs::write(WEIGHT_OF_NODE_1, "9").unwrap();
    let refused = laboratory.run(&["undo"]).with_code(4);
    let said = format!("{}{}", refused.stdout, refused.stderr);
    assert_eq!(
        said.matches("weight of node 1 to 9 since").count(),
        1,
        "{said}"
    );
    assert_eq!(weights(), [2, 9], "another's weight stays");
    laboratory.run(&["undo", "--force"]).with_code(0);
    assert_eq!(weights(), [1, 1]);
    laboratory.nothing_is_left();
}

#[test]
fn the_doctor_plans_by_the_weights_of_the_kernel() {
    let test = "the_doctor_plans_by_the_weights_of_the_kernel";
    let Some(laboratory) = laboratory(test, true) else {
        return;
    };
    let _settings = pages_stay_where_they_are();
    let _small = KernelSettings::no_transparent_huge_pages();
    set(&laboratory);
    // Used from both nodes, and on one of them.
    let holder = Holder::start(&["numactl", "--membind=0"], 48, 2, "memfd");
    let pid = holder.pid();
    let plan = &laboratory.document(&["doctor", &pid, "--json"])["plan"];
    assert_eq!(plan["cure"], "weighted-interleave=0-1", "{plan:#}");
    let load = |moment: &str| plan[moment]["busiest_load"].as_f64().unwrap();
    assert!(load("before") > 1.4 && load("after") < 1.1, "{plan:#}");
    let follow = |step: &str| {
        let lines = plan[step].as_array().unwrap().iter();
        let lines: Vec<_> = lines.map(|line| line.as_str().unwrap()).collect();
        laboratory.script(&lines.join("\n"))
    };
    follow("now").with_code(0);
    let pages = 48 * 256;
    let weighted = format!(
        "weighted interleave:0-1 N0={} N1={}",
        pages / 3 * 2,
        pages / 3
    );
    assert_eq!(holder.placed("memfd"), weighted);
    follow("verify").with_code(0);
    let then = laboratory.document(&["doctor", &pid, "--json"]);
    assert!(then["plan"].is_null(), "{then:#}");
    laboratory.run(&["undo"]).with_code(0);
    assert_eq!(holder.placed("memfd"), format!("bind:0 N0={pages}"));
    drop(holder);
    assert_eq!(weights(), [1, 1]);
    laboratory.nothing_is_left();
}

#[test]
fn memory_moves_by_weights_and_later_pages_follow_them() {
    let test = "memory_moves_by_weights_and_later_pages_follow_them";
    let Some(laboratory) = laboratory(test, true) else {
        return;
    };
    let _small = KernelSettings::no_transparent_huge_pages();
    set(&laboratory);
    let holder = holder(MIB);
    assert_eq!(holder.placed("memfd"), BOUND);
    let pid = holder.pid();
    let words = ["move", &pid, "--to", "weighted-interleave", "--shared"];
    laboratory.run(&words).with_code(0);
    assert_eq!(holder.placed("memfd"), WEIGHTED);
    let again = laboratory.document(&[&words[..], &["--json"]].concat());
    assert_eq!(again["bytes_moved"], 0, "{again:#}");
    undo(&laboratory);
    assert_eq!(holder.placed("memfd"), BOUND);
    set(&laboratory);
    let words = ["move", &pid, "--to", "weighted-interleave=0-1", "--shared"];
    laboratory.run(&words).with_code(0);
    assert_eq!(allocated_again(&laboratory, &holder), WEIGHTED);
    drop(holder);
    undo(&laboratory);
    laboratory.nothing_is_left();
}

/// Frees all pages of the memory and has another process than the one that had them allocate them;
/// returns where that one sees them.
fn allocated_again(laboratory: &Laboratory, holder: &Holder) -> String {
    let descriptors = fs::read_dir(format!("/proc/{}/fd", holder.pid())).unwrap();
    let mut files = descriptors.map(|entry| entry.unwrap().path());
    let is_memory = |path: &std::path::PathBuf| {
        fs::read_link(path).is_ok_and(|link| link.to_str().unwrap().starts_with("/memfd"))
    };
    let path = files.find(is_memory).unwrap();
    let mut punch = Command::new("fallocate");
    punch.args(["--punch-hole", "--offset", "0", "--length", "12MiB"]);
    assert!(punch.arg(&path).status().unwrap().success());
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(&vec![0; 12 << 20], 0).unwrap();
    let reader = format!(
        "numactl --membind=1 /usr/bin/python3 -c '
import mmap
with open(\"{}\", \"r+b\") as file:
    memory = mmap.mmap(file.fileno(), 0)
    for at in range(0, len(memory), 4096): memory[at]
    print(open(\"/proc/self/numa_maps\").read())
'",
        path.display()
    );
    placed(&laboratory.script(&reader).with_code(0).stdout, "memfd")
}

#[test]
fn weights_need_a_capability_that_the_refusal_names() {
    let test = "weights_need_a_capability_that_the_refusal_names";
    if laboratory(test, true).is_none() {
        return;
    }
    let mut laboratory = Laboratory::of(NOBODY);
    laboratory.file("bandwidth.json", BANDWIDTH);
    let words = [&OPTIONS[..], &OF_NODE_0, &["--set"]].concat();
    laboratory
        .run(&words)
        .with_code(4)
        .says(&["CAP_DAC_OVERRIDE"]);
    assert_eq!(weights(), [1, 1]);
    let capability = User::capabilities(&["dac_override"]);
    laboratory.launch_behind(&capability.each_ref().map(String::as_str));
    set(&laboratory);
    undo(&laboratory);
}

#[test]
fn weights_are_taken_back_after_kills() {
    let test = "weights_are_taken_back_after_kills";
    let Some(laboratory) = laboratory(test, true) else {
        return;
    };
    let words = [&OPTIONS[..], &OF_NODE_0, &["--set"]].concat();
    for attempt in 1..=4 {
        let setting = laboratory.start(&words);
        // A moment of its work, not a condition that is waited for.
        std::thread::sleep(Duration::from_millis(200 * attempt));
        setting.kill();
        setting.finish();
        let undone = laboratory.run(&["undo"]);
        assert_eq!(weights(), [1, 1], "after {attempt} kills: {undone:?}");
    }
    laboratory.nothing_is_left();
}

#[test]
fn a_kernel_without_weights_is_told_and_nothing_changes() {
    let test = "a_kernel_without_weights_is_told_and_nothing_changes";
    let Some(laboratory) = laboratory(test, false) else {
        return;
    };
    let holder = holder(4);
    let pid = holder.pid();
    let moves = ["move", &pid, "--to", "weighted-interleave", "--shared"];
    let sets = [&OPTIONS[..], &OF_NODE_0, &["--set"]].concat();
    for words in [&moves[..], &sets] {
        let refused = laboratory.run(words).with_code(3);
        let said = format!("{}{}", refused.stdout, refused.stderr);
        assert_eq!(said.matches("needs Linux 6.9").count(), 1, "{said}");
        assert_eq!(said.matches("hint: ").count(), 1, "{said}");
    }
    assert_eq!(holder.placed("memfd"), "bind:0 N0=1024");
    drop(holder);
    laboratory.nothing_is_left();
}
