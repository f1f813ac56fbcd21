//! A node with memory and without CPUs, which is node 2 of the guest: binding to its CPUs is
//! refused before anything is created; its memory can be requested, and then holds what was asked
//! for.
//!
//! Tests of placement, judgement.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use testing::{Need, not_run};

use crate::laboratory::Laboratory;
use crate::running::Running;
use crate::scanning::Scanning;
use crate::unmet_need::is_guest;

const REFUSAL: &str = "no CPUs on node 2 (memory only)";

#[test]
fn its_cpus_are_refused_before_anything_is_created() {
    if !is_guest(
        "its_cpus_are_refused_before_anything_is_created",
        "memory-only-node",
    ) {
        return;
    }
    let laboratory = Laboratory::new();
    let started = laboratory.state().join("started");
    let words = [
        "bind",
        "--cpunodebind",
        "2",
        "touch",
        started.to_str().unwrap(),
    ];
    laboratory.run(&words).with_code(2).says(&[REFUSAL]);
    assert!(!started.exists());
    let words = ["group", "create", "far", "--cpunodebind", "2"];
    laboratory.run(&words).with_code(2).says(&[REFUSAL]);
    let found = Command::new("find")
        .args(["/sys/fs/cgroup", "-name", "*far*"])
        .output();
    assert_eq!(String::from_utf8_lossy(&found.unwrap().stdout), "");
    laboratory.nothing_is_left();
}

#[test]
fn its_memory_holds_what_was_asked_for() {
    if !is_guest("its_memory_holds_what_was_asked_for", "memory-only-node") {
        return;
    }
    let laboratory = Laboratory::new();
    verified(&laboratory, &["--cpunodebind", "0", "--membind", "2"]);
    let words = [
        "group",
        "create",
        "far",
        "--cpunodebind",
        "0",
        "--membind",
        "2",
    ];
    laboratory.run(&words).with_code(0);
    verified(&laboratory, &["--group", "far"]);
    laboratory.run(&["undo"]).with_code(0);
    laboratory.nothing_is_left();
}

/// Reading /proc/PID/cmdline is an access to the process's memory by the reader. While the kernel
/// balances, it moves the pages with the arguments to the reader's node, whatever the cpuset of the
/// process allows. Every `ps` does that; a placement is honoured nevertheless.
#[test]
fn arguments_that_a_reader_draws_to_its_node_contradict_nothing() {
    let test = "arguments_that_a_reader_draws_to_its_node_contradict_nothing";
    if !is_guest(test, "memory-only-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let group = ["group", "create", "far", "-N", "0", "--membind", "2"];
    laboratory.run(&group).with_code(0);
    let (id, report) = (laboratory.file("id", ""), laboratory.file("report", ""));
    let _often = balance_often();
    // It takes the memory that is waited for once its stack is no longer on node 2 alone.
    let script = format!(
        "import os, re, time\n\
         open({id:?}, 'w').write(str(os.getpid()))\n\
         def moved(): return re.search(r' stack .* N[01]=', open('/proc/self/numa_maps').read())\n\
         end = time.monotonic() + 120\n\
         while not moved() and time.monotonic() < end: time.sleep(0.1)\n\
         memory = bytearray(64 << 20)\n\
         while not os.path.getsize({report:?}): time.sleep(0.1)\n"
    );
    let done = AtomicBool::new(false);
    let finished = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let pid = fs::read_to_string(&id).unwrap();
                let _ = fs::read(format!("/proc/{pid}/cmdline"));
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let verify = ["--verify", "--until-bytes", "64MiB", "--report", &report];
        let program = ["--", "/usr/bin/python3", "-c", &script];
        let words = [&["bind", "--group", "far"], &verify[..], &program].concat();
        let finished = laboratory.run(&words);
        done.store(true, Ordering::Relaxed);
        finished
    });
    let said = fs::read_to_string(Path::new(&report)).unwrap();
    assert_eq!(finished.status.code(), Some(0), "{said}");
    laboratory.run(&["undo"]).with_code(0);
    laboratory.nothing_is_left();
    if !said.contains("node 0 ") && !said.contains("node 1 ") {
        let why = "the kernel moved no page with arguments in 120 s";
        not_run(test, Need::Kernel, why);
    }
}

/// Makes the kernel look at the pages of a process after each 0.1 s of its CPU time: after one
/// second otherwise, and after up to 60 where it moves nothing (kernel/sched/fair.c,
/// `update_task_scan_period`).
fn balance_often() -> Scanning {
    let settings = ["scan_delay_ms", "scan_period_min_ms", "scan_period_max_ms"];
    Scanning::with(&settings.map(|name| (name, 100)))
}

#[test]
fn demotion_to_it_is_found_for_a_process_that_may_not_use_it() {
    let test = "demotion_to_it_is_found_for_a_process_that_may_not_use_it";
    if !is_guest(test, "memory-only-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let setting = "/sys/kernel/mm/numa/demotion_enabled";
    fs::write(setting, "true").unwrap();
    let group = ["group", "create", "near", "-N", "0-1", "-m", "0-1"];
    laboratory.run(&group).with_code(0);
    let sleeper = Running::start(&["sleep", "600"]);
    let pid = sleeper.pid();
    let found = || {
        let document = laboratory.document(&["doctor", &pid, "--json"]);
        let findings = document["findings"].as_array().unwrap().clone();
        let mut findings = findings.into_iter();
        findings.find(|it| it["id"] == "demotion-leaves-cpuset")
    };
    assert_eq!(found(), None, "it may use every node");
    laboratory.run(&["group", "add", "near", &pid]).with_code(0);
    let finding = found().unwrap();
    assert!(
        finding["message"]
            .as_str()
            .unwrap()
            .ends_with("can go to node 2")
    );
    let fix = finding["fix"][0].as_str().unwrap();
    assert!(
        Command::new("sh")
            .args(["-c", fix])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(fs::read_to_string(setting).unwrap(), "false\n");
    assert_eq!(found(), None);
    laboratory.run(&["undo"]).with_code(0);
    laboratory.nothing_is_left();
}

/// Runs a program that keeps 64 MiB until numalab has reported where they are, which must be node 2
/// by numalab's look and by the program's own numa_maps.
#[track_caller]
fn verified(laboratory: &Laboratory, placement: &[&str]) {
    let report = laboratory.file("report", "");
    let own_view = laboratory.file("numa_maps", "");
    let script = format!(
        "import os, shutil, time\n\
         memory = bytearray(64 << 20)\n\
         shutil.copyfile('/proc/self/numa_maps', {own_view:?})\n\
         while not os.path.getsize({report:?}): time.sleep(0.1)\n"
    );
    let verify = ["--verify", "--until-bytes", "64MiB", "--report", &report];
    let program = ["--", "/usr/bin/python3", "-c", &script];
    let words = [&["bind"], placement, &verify, &program].concat();
    let finished = laboratory.run(&words);
    let said = fs::read_to_string(Path::new(&report)).unwrap();
    assert_eq!(finished.status.code(), Some(0), "{said}");
    let maps = fs::read_to_string(Path::new(&own_view)).unwrap();
    // The program's memory is its one area of at least 64 MiB in pages of 4 KiB.
    let areas = maps.lines().filter(|line| line.contains(" anon=1638"));
    let nodes: Vec<_> = areas
        .flat_map(|line| line.split(' ').filter(|word| word.starts_with('N')))
        .collect();
    assert!(
        nodes.len() == 1 && nodes[0].starts_with("N2=1638"),
        "{nodes:?}\n{maps}"
    );
}
