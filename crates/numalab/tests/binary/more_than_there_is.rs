//! Requests for more than the machine has: the error says what is there, what was requested, and
//! how to get it.
//!
//! Tests of experiment, instance.

use std::fs;

use testing::{Need, not_run};

use crate::experiment_file::ExperimentFile;
use crate::finished::Finished;
use crate::laboratory::Laboratory;
use crate::little_memory::LittleMemory;
use crate::unmet_need::{is_root, refused_need};
use crate::user::User;

/// Returns numalab's refusal of an experiment of one case with these keys.
#[track_caller]
fn refused(laboratory: &Laboratory, keys: &str, code: i32) -> Finished {
    let experiment = ExperimentFile::new("one", "").case("one", keys);
    let path = laboratory.file("more.toml", experiment.text());
    let finished = laboratory.run(&["run", &path]).with_code(code);
    assert_eq!(finished.stdout, "");
    laboratory.nothing_is_left();
    finished
}

#[test]
fn too_few_huge_pages_are_refused_with_the_command_that_makes_them() {
    const NAME: &str = "too_few_huge_pages_are_refused_with_the_command_that_makes_them";
    const POOL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";
    let laboratory = Laboratory::new();
    let Ok(free) = fs::read_to_string(format!("{POOL}/free_hugepages")) else {
        return not_run(NAME, Need::Kernel, &format!("the kernel has no {POOL}"));
    };
    let free: u64 = free.trim().parse().unwrap();
    let pool_before = fs::read_to_string(format!("{POOL}/nr_hugepages")).unwrap();
    let mebibytes = 2 * free + 64;
    let keys = |backing| {
        format!(
            "sessions = 1\ncache = \"{mebibytes}MiB\"\npage-size = \"2MiB\"\n\
             backing = \"{backing}\""
        )
    };
    for backing in ["memfd", "sysv"] {
        refused(&laboratory, &keys(backing), 3).says(&[
            "case one",
            " 2 MiB pages on node",
            &format!("({free} free)"),
            "hint: as root: ",
            "2048",
        ]);
    }
    let pool_after = fs::read_to_string(format!("{POOL}/nr_hugepages")).unwrap();
    assert_eq!(pool_before, pool_after, "the pool is the host's");
}

#[test]
fn a_page_size_the_kernel_does_not_have_is_refused() {
    let laboratory = Laboratory::new();
    let keys = "sessions = 1\ncache = \"1MiB\"\npage-size = \"512GiB\"";
    refused(&laboratory, keys, 3).says(&["no pool of 512 GiB pages", "numalab topology"]);
}

#[test]
fn more_sga_than_memory_is_refused() {
    let laboratory = Laboratory::new();
    let keys = "sessions = 1\ncache = \"15TiB\"";
    refused(&laboratory, keys, 3).says(&["the SGA needs 15.", " free)", "hint: ", "`cache`"]);
}

#[test]
fn cpus_and_nodes_that_do_not_exist_are_refused_with_those_that_do() {
    let laboratory = Laboratory::new();
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let keys = "sessions = 1\ncpus = \"8000-8001\"";
    let said = refused(&laboratory, keys, 3);
    said.says(&[
        "offline or not allowed: CPUs 8000-8001",
        "hint: this process may use ",
    ]);
    if said.stderr.contains(online.trim()) {
        said.says(&[online.trim()]);
    }
    let keys = "sessions = 1\nmemory-nodes = \"900\"";
    refused(&laboratory, keys, 3).says(&[
        "no memory that this process may use on node 900",
        "it may use node",
    ]);
    let keys = "sessions = 1\ncpus = \"all:5000\"";
    refused(&laboratory, keys, 3).says(&["needs 5000 CPUs, only "]);
}

#[test]
fn more_sessions_than_an_instance_can_have_are_refused() {
    let laboratory = Laboratory::new();
    refused(&laboratory, "sessions = 8193", 2).says(&["line 11", "`sessions`", "from 1 to 8192"]);
    let keys = "sessions = 8192\ncache = \"1MiB\"";
    refused(&laboratory, keys, 2).says(&[
        "the cache for 8192 sessions must be 512 MiB or more",
        "hint: ",
    ]);
}

/// The limit of a user's processes (`ulimit -u`) takes effect only when they are started.
#[test]
fn more_sessions_than_the_user_may_have_fail_with_the_way_out() {
    const NAME: &str = "more_sessions_than_the_user_may_have_fail_with_the_way_out";
    if !is_root(NAME) {
        return;
    }
    // A user of this test only, because the kernel counts all processes of a user.
    let mut laboratory = Laboratory::of(User(54_321));
    laboratory.launch_behind(&["prlimit", "--nproc=12"]);
    let experiment = ExperimentFile::new("one", "[sga]\ncache = \"2MiB\"\n[load]\nsessions = 32")
        .case("one", "mechanism = \"affinity\"");
    let path = laboratory.file("many.toml", experiment.text());
    let finished = laboratory.run(&["run", &path, "--trials", "5", "--seconds", "0.2"]);
    finished.with_code(8).says(&[
        "case one: every trial failed: session ",
        "cannot start",
        "the limit on processes is below 32",
        "ulimit -u",
    ]);
    laboratory.no_process_or_memory_is_left();
}

#[test]
fn one_node_cannot_be_local_and_remote() {
    const NAME: &str = "one_node_cannot_be_local_and_remote";
    let laboratory = Laboratory::new();
    let topology = laboratory.document(&["topology", "--json"]);
    let nodes = topology["nodes"].as_array().unwrap();
    if nodes.len() > 1 {
        return not_run(NAME, Need::Nodes, "the machine has more than one node");
    }
    let refused = laboratory.run(&["run", "local-vs-remote"]).with_code(3);
    refused.says(&[
        "needs 2 memory nodes (this machine has 1)",
        "hint: ",
        "cargo xtask guest --shape eight-node -- numalab run local-vs-remote",
    ]);
    assert!(
        !laboratory.store().exists(),
        "nothing was run, so nothing is stored"
    );
    let listed = laboratory.run(&["list"]).with_code(0).stdout;
    let (_, cannot) = listed.split_once("\nCannot run here").unwrap();
    assert!(cannot.contains("\n  local-vs-remote\n"), "{listed}");
    // One hint for all experiments that need a second node.
    assert_eq!(listed.matches("cargo xtask guest").count(), 1, "{listed}");
    assert!(listed.lines().all(|line| line.len() <= 80), "{listed}");
    laboratory.nothing_is_left();
}

#[test]
fn more_than_a_control_group_allows_is_refused_beforehand() {
    const NAME: &str = "more_than_a_control_group_allows_is_refused_beforehand";
    let Some(group) = LittleMemory::new(NAME, 128) else {
        return;
    };
    let mut laboratory = Laboratory::new();
    group.launches(&mut laboratory);
    let experiment = ExperimentFile::new("one", "[sga]\ncache = \"256MiB\"\n[load]\nsessions = 2")
        .case("one", "mechanism = \"affinity\"");
    let path = laboratory.file("much.toml", experiment.text());
    let finished = laboratory.run(&["run", &path, "--trials", "5", "--seconds", "0.2"]);
    finished.with_code(3).says(&[
        "the SGA needs 258.52 MiB",
        "the control group allows",
        "`cache`",
    ]);
    laboratory.nothing_is_left();
}

#[test]
fn memory_that_runs_out_in_a_control_group_ends_the_run_with_the_reason() {
    const NAME: &str = "memory_that_runs_out_in_a_control_group_ends_the_run_with_the_reason";
    let Some(group) = LittleMemory::new(NAME, 64) else {
        return;
    };
    let mut laboratory = Laboratory::new();
    group.is_hidden_from(&mut laboratory);
    let experiment = ExperimentFile::new("one", "[sga]\ncache = \"256MiB\"\n[load]\nsessions = 2")
        .case("one", "mechanism = \"affinity\"");
    let path = laboratory.file("much.toml", experiment.text());
    let finished = laboratory.run(&["run", &path, "--trials", "5", "--seconds", "0.2"]);
    finished.with_code(8).says(&[
        "instance",
        "kernel's out-of-memory killer did (check `dmesg`)",
    ]);
    laboratory.no_process_or_memory_is_left();
}

#[test]
fn more_than_dev_shm_has_room_for_is_an_error_and_no_signal() {
    const NAME: &str = "more_than_dev_shm_has_room_for_is_an_error_and_no_signal";
    let mut laboratory = Laboratory::new();
    // A private /dev/shm.
    let enter = "mount -t tmpfs -o size=4m tmpfs /dev/shm && exec \"$@\"";
    let words = ["unshare", "--mount", "sh", "-c", enter, "sh"];
    let can_mount = std::process::Command::new(words[0])
        .args(&words[1..])
        .arg("true")
        .output();
    if !can_mount.is_ok_and(|output| output.status.success()) {
        let why = "it may not mount a file system of its own";
        return not_run(NAME, refused_need(), why);
    }
    laboratory.launch_behind(&words);
    let experiment = ExperimentFile::new("one", "[sga]\ncache = \"16MiB\"\n[load]\nsessions = 2")
        .case("one", "backing = \"shm\"");
    let path = laboratory.file("shm.toml", experiment.text());
    let finished = laboratory.run(&["run", &path, "--trials", "5", "--seconds", "0.2"]);
    finished
        .with_code(3)
        .says(&["the SGA needs 16.", "in /dev/shm (4 MiB free)"]);
    laboratory.no_process_or_memory_is_left();
}
