//! `numalab balance`: what cannot be balanced is refused and changes nothing; on two nodes, in a
//! guest, every end leaves the policy that was there, and the kernel moves no more than it may.
//!
//! Tests of relocation, journal.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Command;

use linux::{Root, proc_vmstat};
use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::laboratory::{Laboratory, pid};
use crate::patience::until;
use crate::running::Running;
use crate::scanning::Scanning;
use crate::unmet_need::is_guest;

/// Holds 16 MiB of shared memory on the node of the last CPU; a child reads it on CPU 0, over and
/// over.
const READER: &str = "
import mmap, os, time
size = 16 << 20
file = os.memfd_create('pool')
os.ftruncate(file, size)
memory = mmap.mmap(file, size)
os.sched_setaffinity(0, {os.cpu_count() - 1})
for at in range(0, size, 4096): memory[at] = 1
parent = os.getpid()
if os.fork() == 0:
    os.sched_setaffinity(0, {0})
    while os.getppid() == parent: memory[::4096]
    os._exit(0)
print('ready', flush=True)
time.sleep(600)
";
/// Uses private memory of its own on the last CPU, over and over.
const OTHER: &str = "
import os
os.sched_setaffinity(0, {os.cpu_count() - 1})
memory = bytearray(4 << 20)
while True: memory[::4096]
";
const SETTING: &str = "/proc/sys/kernel/numa_balancing";

fn reader() -> Running {
    let mut reader = Running::start_piped(&["/usr/bin/python3", "-c", READER]);
    let ready = BufReader::new(reader.0.stdout.take().unwrap())
        .lines()
        .next();
    assert_eq!(ready.unwrap().unwrap(), "ready");
    reader
}

/// Policy and pages by node of the memory, as the kernel shows them.
fn place(pid: &str) -> Vec<String> {
    let maps = fs::read_to_string(format!("/proc/{pid}/numa_maps")).unwrap();
    let line = maps.lines().find(|line| line.contains("memfd:pool"));
    let words = line.unwrap().split(' ').enumerate();
    let words = words.filter(|(at, word)| *at == 1 || word.starts_with('N'));
    words.map(|(_, word)| word.to_owned()).collect()
}

fn until_at_work(pid: &str) {
    let is_at_work = || place(pid)[0].starts_with("bind=balancing:").then_some(());
    until("the kernel balances the memory", is_at_work);
}

fn nothing_in_force(laboratory: &Laboratory) {
    let listed = laboratory.run(&["undo", "--list"]).with_code(0);
    assert_eq!(listed.stdout, "no changes in force\n");
}

#[test]
fn what_cannot_be_balanced_is_refused_and_nothing_changes() {
    let laboratory = Laboratory::new();
    let sleeper = Running::start(&["sleep", "600"]);
    let pid = sleeper.pid();
    let check = |words: &[&str], code: i32, expected: &str| {
        let words: Vec<_> = ["balance"].iter().chain(words).copied().collect();
        laboratory.run(&words).with_code(code).says(&[expected]);
    };
    let topology = topology::read(&Root::live()).unwrap();
    let why = match topology.memory_nodes().len() {
        1 => "one node with memory",
        _ => "no shared memory in small pages",
    };
    check(&[&pid], 3, why);
    check(&[&pid, "--dry-run"], 3, why);
    check(
        &[&pid, "--segment", "none"],
        2,
        "no shared memory called \"none\"",
    );
    check(&[&pid, "--for", "0"], 2, "expected a time from 0.05");
    check(&[&pid, "--mib-per-s", "0"], 2, "--mib-per-s");
    check(&[&pid, "--mib-per-s", "-1"], 2, "--mib-per-s");
    check(&["4000000000"], 2, "4000000000");
    check(&["unit:none"], 2, "unit:none");
    nothing_in_force(&laboratory);
}

#[test]
fn a_kernel_that_does_not_balance_is_told_how_it_would() {
    let test = "a_kernel_that_does_not_balance_is_told_how_it_would";
    if !is_guest(test, "two-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let reader = reader();
    let before = fs::read_to_string(SETTING).unwrap();
    fs::write(SETTING, "0").unwrap();
    let refused = laboratory.run(&["balance", &reader.pid()]).with_code(3);
    fs::write(SETTING, before).unwrap();
    let parts = [
        "kernel.numa_balancing is 0",
        "sysctl kernel.numa_balancing=1",
    ];
    refused.says(&parts);
    nothing_in_force(&laboratory);
}

#[test]
fn the_kernel_moves_no_more_in_a_second_than_it_may() {
    let test = "the_kernel_moves_no_more_in_a_second_than_it_may";
    if !is_guest(test, "two-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let reader = reader();
    let pid = reader.pid();
    let before = place(&pid);
    let planned = laboratory.document(&["balance", &pid, "--dry-run", "--json"]);
    assert_eq!(
        (&planned["end"], place(&pid)),
        (&"planned".into(), before.clone())
    );
    let words = ["balance", &pid, "--mib-per-s", "1", "--for", "12", "--json"];
    let document = laboratory.document(&words);
    let samples = document["samples"].as_array().unwrap();
    let of = |name: &str| {
        let values = samples
            .iter()
            .map(|sample: &Value| sample[name].as_f64().unwrap());
        values.collect::<Vec<_>>()
    };
    let stopped: f64 = of("stopped_s").iter().sum();
    assert!(stopped > 0.0, "{samples:#?}");
    // Without a bound, all 16 MiB move within a second. A sample may lie across two seconds, and
    // between two looks, which take long in a guest, the kernel moves some pages more.
    let most = of("bytes_migrated").into_iter().fold(0.0, f64::max);
    assert!(most <= f64::from(8 << 20), "{most}");
    let moved = of("bytes_migrated").iter().sum::<f64>();
    assert!(moved > 0.0, "{samples:#?}");
    assert_eq!(place(&pid)[0], "default");
    laboratory.run(&["undo"]).with_code(0);
    assert_eq!(place(&pid), before);
    nothing_in_force(&laboratory);
}

#[test]
fn pages_have_not_settled_before_their_users_were_scanned() {
    let test = "pages_have_not_settled_before_their_users_were_scanned";
    if !is_guest(test, "two-node") {
        return;
    }
    let laboratory = Laboratory::new();
    // The kernel scans another process, and comes to the reader when that has used 15 s.
    let faults = || proc_vmstat::read(&Root::live()).unwrap().numa_hint_faults;
    let before = faults();
    let _other = Running::start(&["/usr/bin/python3", "-c", OTHER]);
    until("another process is scanned", || {
        (faults() > before).then_some(())
    });
    let _late = Scanning::with(&[("scan_delay_ms", 15_000), ("scan_period_max_ms", 22_000)]);
    let reader = reader();
    let target = reader.pid();
    // It stands still until the kernel balances its memory, which takes seconds on a busy machine.
    let child = format!("/proc/{target}/task/{target}/children");
    let child = fs::read_to_string(child).unwrap();
    let child = pid(child.trim().parse().unwrap());
    kill_process(child, Signal::STOP).unwrap();
    let balance = laboratory.start(&["balance", &target, "--json"]);
    until_at_work(&target);
    kill_process(child, Signal::CONT).unwrap();
    let document = balance.finish().with_code(0).document();
    assert_eq!(document["settled_after_s"], 22.0);
    let samples = document["samples"].as_array().unwrap();
    let is_first = |sample: &&Value| sample["at_s"].as_f64().unwrap() < 10.5;
    let first = |name: &str| {
        let samples = samples.iter().filter(is_first);
        samples.map(|it| it[name].as_u64().unwrap()).sum::<u64>()
    };
    assert!(first("hint_faults") > 0, "{samples:#?}");
    assert_eq!(first("pages_changed"), 0, "{samples:#?}");
    assert_eq!(document["end"], "settled", "{samples:#?}");
    // The pages came to the node of CPU 0, where the reader is. The kernel may leave one that is in
    // use until the next scan.
    let after = place(&target);
    let near = after.iter().find_map(|word| word.strip_prefix("N0="));
    let near: u64 = near.map_or(0, |pages| pages.parse().unwrap());
    assert!(after[0] == "default" && near >= 4096 * 9 / 10, "{after:?}");
    laboratory.run(&["undo"]).with_code(0);
    nothing_in_force(&laboratory);
}

#[test]
fn whoever_ends_it_finds_the_policy_that_was_there() {
    let test = "whoever_ends_it_finds_the_policy_that_was_there";
    if !is_guest(test, "two-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let reader = reader();
    let pid = reader.pid();
    let before = place(&pid);
    let balance = laboratory.start(&["balance", &pid, "--for", "100"]);
    until_at_work(&pid);
    let refused = laboratory
        .run(&["move", &pid, "--to", "0", "--shared"])
        .with_code(4);
    refused.says(&["has locked"]);
    balance.signal(Signal::INT);
    assert_eq!(balance.finish().status.code(), Some(130));
    assert_eq!(place(&pid)[0], "default");
    laboratory.run(&["undo"]).with_code(0);
    assert_eq!(place(&pid), before);

    let kept = laboratory.document(&["balance", &pid, "--for", "2", "--keep", "--json"]);
    assert_eq!(kept["is_kept"], true);
    assert!(place(&pid)[0].starts_with("bind=balancing:"));
    laboratory.run(&["undo"]).with_code(0);
    assert_eq!(place(&pid), before);

    let balance = laboratory.start(&["balance", &pid, "--for", "100"]);
    until_at_work(&pid);
    drop(reader);
    assert_eq!(balance.finish().status.code(), Some(8));
    laboratory.run(&["undo"]).with_code(0);
    nothing_in_force(&laboratory);
}

#[test]
fn a_policy_that_another_sets_meanwhile_is_not_overwritten() {
    let test = "a_policy_that_another_sets_meanwhile_is_not_overwritten";
    if !is_guest(test, "two-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let reader = reader();
    let pid = reader.pid();
    let before = place(&pid);
    let balance = laboratory.start(&["balance", &pid, "--for", "100"]);
    until_at_work(&pid);
    let script = format!(
        "for file in /proc/{pid}/fd/*; do
           case $(readlink $file) in *memfd:pool*)
             numactl --length=16M --file $file --interleave=0-1 && exit;;
           esac
         done; exit 1"
    );
    let set = Command::new("sh").args(["-c", &script]).status().unwrap();
    assert!(set.success());
    let ended = balance.finish().with_code(6);
    ended.says(&["set the memory policy of /memfd:pool to interleave:0-1"]);
    assert_eq!(place(&pid)[0], "interleave:0-1");
    laboratory.run(&["undo"]).with_code(4);
    assert_eq!(place(&pid)[0], "interleave:0-1");
    laboratory.run(&["undo", "--force"]).with_code(0);
    assert_eq!(place(&pid), before);
    nothing_in_force(&laboratory);
}

/// Fills 16 MiB of private memory on the last CPU, and uses it on CPU 0 from then on.
const MOVED: &str = "
import os
os.sched_setaffinity(0, {os.cpu_count() - 1})
memory = bytearray(16 << 20)
for at in range(0, len(memory), 4096): memory[at] = 1
os.sched_setaffinity(0, {0})
while True: memory[::4096]
";

#[test]
fn what_balancing_does_for_a_target_is_told() {
    let test = "what_balancing_does_for_a_target_is_told";
    if !is_guest(test, "two-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let before = fs::read_to_string(SETTING).unwrap();
    fs::write(SETTING, "1").unwrap();
    let found = |pid: &str| {
        let document = laboratory.document(&["doctor", pid, "--json"]);
        let mut findings = document["findings"].as_array().unwrap().iter();
        let found = findings.find(|it| it["id"] == "numa-balancing").cloned();
        found.unwrap_or_else(|| panic!("{document:#}"))
    };
    let idle = Running::start(&["taskset", "--cpu-list", "0", "sleep", "600"]);
    let said = found(&idle.pid());
    assert!(
        said["message"].to_string().contains("does not look"),
        "{said}"
    );
    let moved = Running::start(&["/usr/bin/python3", "-c", MOVED]);
    let pid = moved.pid();
    let sched = || fs::read_to_string(format!("/proc/{pid}/sched")).unwrap_or_default();
    until("the kernel moves its memory", || {
        let text = sched();
        let line = text
            .lines()
            .find(|line| line.starts_with("numa_pages_migrated"))?;
        let pages: u64 = line.rsplit(' ').next()?.parse().ok()?;
        (pages >= 1024).then_some(())
    });
    let said = found(&pid);
    assert!(said["message"].to_string().contains("it heals"), "{said}");
    assert_eq!(said["severity"], "info");
    fs::write(SETTING, before).unwrap();
}
