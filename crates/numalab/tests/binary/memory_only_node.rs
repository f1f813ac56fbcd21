//! A node with memory and without CPUs, which is node 2 of the guest: binding to its CPUs is
//! refused before anything is created; its memory can be requested, and then holds what was asked
//! for.

use std::path::Path;
use std::process::Command;

use crate::laboratory::Laboratory;
use crate::unmet_need::is_guest;

const REFUSAL: &str = "node 2 has memory only and no CPUs";

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
    laboratory.run(&words).with_code(0);
    let maps = std::fs::read_to_string(Path::new(&own_view)).unwrap();
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
