//! `numalab inspect` of processes that end, change their mappings, have ten thousand of them, or
//! live in another PID namespace: a partial answer that says so, never a crash or a wrong total.
//!
//! Tests of residency, linux.

use std::io::{BufRead, BufReader};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use linux::process::page_bytes;
use linux::shared_memory::{ObjectKind, SharedMemory};
use serde_json::Value;
use testing::{Need, not_run};

use crate::laboratory::{Laboratory, binary};
use crate::running::Running;
use crate::unmet_need::is_root;

/// Number of inspections while something changes.
const LOOKS: usize = 20;

/// Returns the bytes found of each memfd of this size that numalab's library made. Other tests in
/// this process run in parallel and use other sizes.
fn bytes_of_memfds(residency: &Value, mapped: u64) -> Vec<u64> {
    let segments = residency["segments"].as_array().unwrap().iter();
    let ours = segments.filter(|segment| {
        let name = segment["name"].as_str().unwrap();
        name.starts_with("/memfd:") && segment["mapped_bytes"] == mapped
    });
    let bytes = ours.map(|segment| {
        let nodes = segment["bytes_by_node"].as_object().unwrap().values();
        nodes.map(|bytes| bytes.as_u64().unwrap()).sum::<u64>()
    });
    bytes.collect()
}

#[test]
fn processes_that_end_meanwhile_leave_a_partial_answer() {
    let laboratory = Laboratory::new();
    let shell = Running::start(&[
        "sh",
        "-c",
        "while :; do /bin/true; /bin/true | /bin/true; done",
    ]);
    for _ in 0..LOOKS {
        let found = laboratory.document(&["inspect", &shell.pid(), "--json"]);
        // Not necessarily the first: after the largest id, ids wrap around.
        let mut processes = found["processes"].as_array().unwrap().iter();
        assert!(processes.any(|it| it["pid"] == shell.0.id()), "{found:#}");
    }
}

/// Starts and ends threads until its input ends.
const RESTLESS: &str = r"
import sys, threading
def run():
    while True:
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
for _ in range(4):
    threading.Thread(target=run, daemon=True).start()
sys.stdin.read()
";

#[test]
fn threads_that_end_meanwhile_are_skipped_and_counted() {
    let laboratory = Laboratory::new();
    let server = Running::start(&["python3", "-c", RESTLESS]);
    for _ in 0..LOOKS {
        let found = laboratory.document(&["inspect", &server.pid(), "--json"]);
        assert_eq!(found["threads"]["unread"], 0, "{:#}", found["threads"]);
        assert!(found["threads"]["threads"].as_u64() > Some(0));
    }
}

#[test]
fn a_mapping_that_changes_meanwhile_never_makes_a_wrong_total() {
    const BYTES: u64 = 8 << 20;
    let laboratory = Laboratory::new();
    let fixed = SharedMemory::create(ObjectKind::Memfd, BYTES as usize, page_bytes()).unwrap();
    let mapping = fixed.map().unwrap();
    mapping.populate_for_writing().unwrap();
    let stop = AtomicBool::new(false);
    let looks = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let other = SharedMemory::create(ObjectKind::Memfd, 1 << 20, page_bytes()).unwrap();
                other.map().unwrap().populate_for_writing().unwrap();
            }
        });
        let pid = std::process::id().to_string();
        let look = |_| laboratory.run(&["inspect", &pid, "--json"]);
        let looks: Vec<_> = (0..LOOKS).map(look).collect();
        stop.store(true, Ordering::Relaxed);
        looks
    });
    for look in looks {
        let found = look.with_code(0).document();
        assert_eq!(bytes_of_memfds(&found, BYTES), [BYTES], "{found:#}");
    }
}

#[test]
fn ten_thousand_mappings_of_one_object_are_one_object() {
    let laboratory = Laboratory::new();
    let memory = SharedMemory::create(ObjectKind::Memfd, 16 << 20, page_bytes()).unwrap();
    let mappings: Vec<_> = (0..10_000).map(|_| memory.map().unwrap()).collect();
    mappings[0].populate_for_writing().unwrap();
    let pid = std::process::id().to_string();
    for words in [
        &["inspect", &pid, "--json"][..],
        &["inspect", &pid, "--json", "--numa-maps"],
    ] {
        let found = laboratory.document(words);
        assert_eq!(bytes_of_memfds(&found, 16 << 20), [16 << 20]);
    }
}

/// Binds its first thread to one CPU and another thread to another, prints both CPUs, and ends at
/// the end of its input.
const TWO_THREADS: &str = r"
import os, sys, threading
one, *_, other = sorted(os.sched_getaffinity(0))
def run():
    os.sched_setaffinity(0, {other})
    print(one, other, flush=True)
    sys.stdin.read()
os.sched_setaffinity(0, {one})
threading.Thread(target=run).start()
";

#[test]
fn the_cpus_of_a_process_are_those_of_all_its_threads() {
    const NAME: &str = "the_cpus_of_a_process_are_those_of_all_its_threads";
    if std::thread::available_parallelism().unwrap().get() < 2 {
        not_run(NAME, Need::Hardware, "it needs two CPUs");
        return;
    }
    let laboratory = Laboratory::new();
    let mut process = Running::start_piped(&["python3", "-c", TWO_THREADS]);
    let mut line = String::new();
    let stdout = process.0.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    let expected: model::CpuSet = line.trim().replace(' ', ",").parse().unwrap();
    assert_eq!(expected.len(), 2);
    let found = laboratory.document(&["inspect", &process.pid(), "--json"]);
    let of_it = &found["processes"][0];
    assert_eq!(of_it["cpus"], expected.to_string(), "{of_it:#}");
    let topology = topology::read(&linux::Root::live()).unwrap();
    let private = of_it["private_bytes_by_node"].as_object().unwrap();
    let of_node = |node: &str| private.get(node).map_or(0.0, |it| it.as_f64().unwrap());
    let all: f64 = private.keys().map(|node| of_node(node)).sum();
    let of_cpu = |cpu| of_node(&topology.node_of_cpu(cpu).unwrap().to_string()) / all;
    let local: f64 = expected.iter().map(|cpu| of_cpu(cpu) / 2.0).sum();
    let share = of_it["private_local_share"].as_f64().unwrap();
    assert!((share - local).abs() < 1e-9, "{local} {of_it:#}");
}

#[test]
fn a_process_of_another_pid_namespace_has_the_id_that_we_see() {
    const TEST: &str = "a_process_of_another_pid_namespace_has_the_id_that_we_see";
    if !is_root(TEST) {
        return;
    }
    let laboratory = Laboratory::new();
    let unshare = Running::start(&["unshare", "--pid", "--fork", "--kill-child", "sleep", "600"]);
    let found = crate::patience::until("the namespace has its process", || {
        let found = laboratory.run(&["inspect", &unshare.pid(), "--json"]);
        let found = (found.status.success()).then(|| found.document())?;
        // Until it has executed its program, it is called as the one that it was forked from.
        (found["processes"][1]["name"] == "sleep").then_some(found)
    });
    assert_eq!(found["processes"].as_array().unwrap().len(), 2);
    let inside = &found["processes"][1];
    assert!(inside["pid"].as_u64().unwrap() > 1);
    // From inside, no process outside exists.
    let binary = binary();
    let binary = binary.to_str().unwrap();
    let own = std::process::id().to_string();
    let words = ["--pid", "--fork", "--mount-proc", binary, "inspect", &own];
    let refused = Command::new("unshare").args(words).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    // If unshare(1) itself failed, numalab was not started.
    if said.starts_with("unshare: ") {
        return not_run(TEST, Need::Kernel, &format!("from the inside: {said}"));
    }
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains(&format!("no process of {own} is running")),
        "{said}"
    );
}
