//! `numalab bind` and `numalab group` on four nodes, with groups of cgroup v2 or v1: a program's
//! memory lies where each policy puts it, according to numalab and to the kernel, which is asked
//! about the same process; and a program that sets its own policy is detected.
//!
//! Node N has CPUs 2N and 2N + 1.
//!
//! Tests of placement.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::process::{Command, Stdio};

use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::{Value, json};

use super::kernel_state::{KernelState, cgroup_version};
use super::{numa_maps, trials};
use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::running::Running;
use crate::unmet_need::is_guest;

const SHAPE: &str = "four-node-ring";
/// Memory that a program allocates.
const BYTES: usize = 32 << 20;
/// Much less than it, and more than what the kernel places before the program begins.
const FEW_BYTES: u64 = 1 << 20;

/// A pipe to which dd writes one block of memory: it has allocated and filled it, and stays until
/// that is read.
struct Pipe {
    path: String,
    file: File,
}

impl Pipe {
    fn new(laboratory: &Laboratory) -> Self {
        let path = laboratory.folder().join("pipe");
        let _ = fs::remove_file(&path);
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
        // Open for writing, too, so that opening does not wait for dd.
        let file = OpenOptions::new().read(true).write(true).open(&path);
        Pipe {
            path: path.to_str().unwrap().to_owned(),
            file: file.unwrap(),
        }
    }

    /// Returns the command that writes to it.
    fn command(&self) -> Vec<String> {
        let (output, size) = (format!("of={}", self.path), format!("bs={BYTES}"));
        let words = ["dd", "if=/dev/zero", &output, &size, "count=1"];
        words.map(str::to_owned).to_vec()
    }

    /// Reads the block; dd ends.
    fn empty(mut self) {
        self.file.read_exact(&mut vec![0; BYTES]).unwrap();
    }
}

/// Starts a program with these options of `bind`, behind `launcher`, and asserts that all its
/// memory lies on `nodes`; and that numalab finds the placement honoured or, if a policy is given,
/// that policy.
#[track_caller]
fn check(laboratory: &Laboratory, options: &str, launcher: &str, policy: &str, nodes: &[u64]) {
    let what = format!("bind {options} {launcher}");
    let (pipe, report) = (Pipe::new(laboratory), laboratory.file("report", ""));
    let verify = format!("--verify --until-bytes 31MiB --json --report {report}");
    let program = pipe.command().join(" ");
    let words = format!("bind {options} {verify} -- {launcher} {program}");
    let words: Vec<_> = words.split_whitespace().collect();
    let mut under_way = laboratory.start(&words);
    let report: Value = until("a report", || {
        let has_ended = under_way.has_ended();
        let report = serde_json::from_str(&fs::read_to_string(&report).unwrap()).ok();
        assert!(!has_ended, "{what}: {} {report:?}", under_way.stderr());
        report
    });
    let pid = report["pid"].as_u64().unwrap();
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
    assert_eq!(name, "dd\n", "{what}: the program");
    let expected: BTreeSet<u64> = nodes.iter().copied().collect();
    let kernel = with_memory(private_bytes(pid));
    assert_eq!(kernel, expected, "{what}: nodes in numa_maps");
    let found = with_memory(trials::bytes(&report["bytes_by_node"]));
    assert_eq!(found, expected, "{what}: nodes that numalab saw");
    assert_eq!(report["trigger_reached"], true, "{what}: {report}");
    pipe.empty();
    if policy.is_empty() {
        assert_eq!(report["honoured"], true, "{what}: {report}");
        under_way.finish().with_code(0);
    } else {
        let mut overrides = report["overrides"].as_array().unwrap().iter();
        let names_it = overrides.any(|it| it["policy"] == policy && it["name"] == "dd");
        assert!(names_it, "{what} names {policy}: {report}");
        under_way.finish().with_code(6);
    }
}

/// Returns the private bytes of a process on each node, according to the kernel.
fn private_bytes(pid: u64) -> impl Iterator<Item = (u64, u64)> {
    let maps = numa_maps::of(pid);
    let pages = numa_maps::pages(maps.iter().filter(|mapping| mapping.is_private));
    pages.into_iter().map(|(node, pages)| (node, pages * 4096))
}

/// Returns the nodes with more than a few bytes.
fn with_memory(bytes_by_node: impl IntoIterator<Item = (u64, u64)>) -> BTreeSet<u64> {
    let bytes_by_node = bytes_by_node.into_iter();
    let large = bytes_by_node.filter(|(_, bytes)| *bytes > FEW_BYTES);
    large.map(|(node, _)| node).collect()
}

/// Creates a group with the CPUs of node 1 and the memory of nodes 1 and 2.
#[track_caller]
fn create_group(laboratory: &Laboratory) {
    let words = ["group", "create", "check", "-N", "1", "-m", "1-2", "--json"];
    let made = laboratory.document(&words);
    let group = &made["groups"][0];
    let found = ["cgroup_version", "cpus", "memory_nodes"].map(|key| &group[key]);
    let expected = [json!(cgroup_version()), json!("2-3"), json!("1-2")];
    assert_eq!(found, expected.each_ref(), "{made:#}");
}

#[test]
fn memory_lies_where_each_policy_puts_it() {
    if !is_guest("memory_lies_where_each_policy_puts_it", SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let state = KernelState::read(&laboratory);
    let check = |options, nodes| check(&laboratory, options, "", "", nodes);
    check("-N 0 -m 2", &[2]);
    check("-N 0 -m 2 -b", &[2]);
    check("-N 0 -i 1,3", &[1, 3]);
    check("-N 0 -p 3", &[3]);
    check("-N 1 -P 0-1", &[1]);
    check("-C 4 -l", &[2]);
    // Without a policy, memory comes from near the CPUs.
    check("-N 3", &[3]);
    state.is_unchanged();
}

#[test]
fn memory_lies_where_each_policy_puts_it_in_a_group() {
    if !is_guest("memory_lies_where_each_policy_puts_it_in_a_group", SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let state = KernelState::read(&laboratory);
    create_group(&laboratory);
    let check = |policy, nodes| {
        let options = format!("--group check {policy}");
        check(&laboratory, &options, "", "", nodes);
    };
    check("", &[1]);
    check("-m 2", &[2]);
    check("-m 2 -b", &[2]);
    check("-i all", &[1, 2]);
    check("-p 2", &[2]);
    check("-P 1-2", &[1]);
    check("-l", &[1]);
    let undone = laboratory.run(&["undo"]).with_code(0).stdout;
    assert!(
        undone.contains("undone: processor group check\n"),
        "{undone}"
    );
    state.is_unchanged();
}

#[test]
fn a_program_with_a_policy_of_its_own_is_detected() {
    if !is_guest("a_program_with_a_policy_of_its_own_is_detected", SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let state = KernelState::read(&laboratory);
    create_group(&laboratory);
    let check = |options, launcher, policy, nodes| {
        check(&laboratory, options, launcher, policy, nodes);
    };
    check("-m 1", "numactl -m 2", "bind:2", &[2]);
    check("--group check", "numactl -i 1-2", "interleave:1-2", &[1, 2]);
    laboratory.run(&["undo"]).with_code(0);
    state.is_unchanged();
}

/// A running program is moved into a group, whose memory nodes then change.
#[test]
fn memory_follows_a_group_whose_nodes_change() {
    if !is_guest("memory_follows_a_group_whose_nodes_change", SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let state = KernelState::read(&laboratory);
    let pipe = Pipe::new(&laboratory);
    let mut command = Command::new("numactl");
    let command = command.args(["-m", "0"]).args(pipe.command());
    let program = Running::of(command.stderr(Stdio::null()));
    let pid = program.0.id().into();
    until("the program has its memory", || {
        let bytes: u64 = private_bytes(pid).map(|(_, bytes)| bytes).sum();
        (bytes >= BYTES as u64).then_some(())
    });
    let nodes = |document: Value| {
        let bytes = trials::bytes(&document["groups"][0]["bytes_by_node"]);
        (with_memory(bytes), with_memory(private_bytes(pid)))
    };
    let group = |words: &str| {
        let words: Vec<_> = words.split(' ').collect();
        laboratory.run(&[&["group"], &words[..]].concat())
    };
    group("create other -N 3 -m 0,3").with_code(0);
    group(&format!("add other {pid}")).with_code(0);
    let before = group("list other --json").with_code(0).document();
    let on = |node| (BTreeSet::from([node]), BTreeSet::from([node]));
    assert_eq!(nodes(before), on(0), "as it came into the group");
    let after = group("set other -m 3 --migrate --json").with_code(0);
    assert_eq!(nodes(after.document()), on(3), "after the change");
    assert_eq!(program.cpus(), "6-7", "in the group");
    let kept = group("delete other").with_code(2);
    kept.says(&["it has members: dd ("]);
    group("delete other --evict").with_code(0);
    assert_eq!(program.cpus(), "0-7", "moved out of the group");
    pipe.empty();
    state.is_unchanged();
}

#[test]
fn what_the_kernel_or_the_view_of_its_groups_cannot_do_is_refused() {
    let test = "what_the_kernel_or_the_view_of_its_groups_cannot_do_is_refused";
    if !is_guest(test, SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let state = KernelState::read(&laboratory);
    create_group(&laboratory);
    let check = |options: &str, code, says| {
        let words = format!("bind {options} true");
        let words: Vec<_> = words.split(' ').collect();
        laboratory.run(&words).with_code(code).says(&[says]);
    };
    check(
        "-w all",
        3,
        "weighted interleaving: needs Linux 6.9 or newer",
    );
    check("-m 7", 2, "there is no node 7: this machine has 0-3");
    let elsewhere = "allows memory only on nodes 1-2, not on 0";
    check("--group check -m 0", 4, elsewhere);
    let read_only = "top=/sys/fs/cgroup; [ -d $top/cpuset ] && top=$top/cpuset
        unshare -m sh -c \"mount -o remount,bind,ro $top && numalab group create x\"";
    let refused = laboratory.script(read_only).with_code(4);
    refused.says(&["is on a read-only file system, as in a container"]);
    laboratory.run(&["undo"]).with_code(0);
    state.is_unchanged();
}
