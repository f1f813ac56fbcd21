//! `numalab move` and `numalab pages` on this machine: meaningless or forbidden requests are
//! refused by name and change nothing. What the commands do is tested on machines with several
//! nodes, in guests.
//!
//! Tests of relocation, journal, placement.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
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

#[test]
fn a_move_of_what_is_there_already_leaves_nothing_in_the_journal() {
    let laboratory = Laboratory::new();
    let sleeper = Running::start(&["sleep", "600"]);
    let topology = laboratory.document(&["topology", "--json"]);
    let nodes = topology["nodes"].as_array().unwrap();
    let node = nodes
        .iter()
        .find(|it| it["memory_bytes"].as_u64() > Some(0));
    let node = node.unwrap()["id"].to_string();
    let list = || laboratory.run(&["undo", "--list"]).with_code(0).stdout;
    let words = ["move", &sleeper.pid(), "--to", &node, "--private", "--json"];
    // Of several nodes, some of it may lie on another.
    laboratory.document(&words);
    let before = list();
    let again = laboratory.document(&words);
    assert_eq!(again["bytes_moved"], 0, "{again:#}");
    assert_eq!(list(), before);
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
        (pages > (64 << 20) / linux::process::page_bytes()).then_some(())
    });
    let file = laboratory.state().join("trace.json");
    let path = file.display().to_string();
    let options = ["--to", "1", "--private", "--mib-per-s", "64", "--json"];
    let words = [&["move", &pid, "--perfetto", &path][..], &options].concat();
    let moved = laboratory.document(&words);
    let trace: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |name: &str| {
        // A lower bound has "at least" behind its name.
        let is_it = |event: &&Value| event["name"].as_str().unwrap_or("").starts_with(name);
        let events = events.iter().filter(is_it);
        events.map(|event| &event["args"]).collect::<Vec<_>>()
    };
    let steps = of("bytes moved");
    let steps = steps.iter().map(|step| step["value"].as_u64().unwrap());
    let steps: Vec<u64> = steps.collect();
    // How many steps there are depends on the machine: chunks grow.
    assert!(steps.is_sorted(), "{steps:?}");
    let (first, last) = (steps[0], steps[steps.len() - 1]);
    assert!(first == 0 && last >= 64 << 20, "{steps:?}: {moved:#}");
    let are_between = steps.iter().any(|step| (1..last).contains(step));
    assert!(are_between, "{steps:?}");
    let memory = of(&format!("{pid} bytes by node"));
    let before = memory[0]["node 0"].as_u64().unwrap();
    assert!(before >= 64 << 20, "{memory:?}");
}

/// Holds 32 pages of 2 MiB, each at the start of 64 MiB of shared memory, in two processes. Both
/// read all of them again at SIGUSR1.
const HOLDS_HUGE: &str = "\
import mmap, os, signal
with open('/proc/self/comm', 'w') as name:
    name.write('numalab-holder')
file = os.memfd_create('numalab-test', os.MFD_HUGETLB | os.MFD_HUGE_2MB)
os.ftruncate(file, 2 << 30)
# Without a reservation (MAP_NORESERVE), which the pool is too small for.
memory = mmap.mmap(file, 2 << 30, mmap.MAP_SHARED | 0x4000)
places = range(0, 2 << 30, 64 << 20)
for place in places:
    memory[place] = 1
def read(*_):
    for place in places:
        memory[place]
signal.signal(signal.SIGUSR1, read)
os.fork()
read()
while True:
    signal.pause()
";

/// Pages of the shared memory of [`HOLDS_HUGE`] on nodes 0 and 1 that a process has mapped, as the
/// kernel counts them.
fn held_by_node(pid: &str) -> [u64; 2] {
    let maps = fs::read_to_string(format!("/proc/{pid}/numa_maps")).unwrap_or_default();
    let of_memory = maps.lines().find(|line| line.contains("numalab-test"));
    ["N0=", "N1="].map(|name| {
        let mut words = of_memory.unwrap_or_default().split(' ');
        let count = words.find_map(|word| word.strip_prefix(name));
        count.map_or(0, |count| count.parse().unwrap())
    })
}

/// Two processes with [`HOLDS_HUGE`], all on node 0 of the two-node guest.
struct HugeHolders {
    parent: String,
    child: String,
    _running: Running,
}

impl HugeHolders {
    fn start() -> Self {
        set_pools("32");
        let python = ["/usr/bin/python3", "-c", HOLDS_HUGE];
        let running = Running::start(&[&["numactl", "--membind=0"][..], &python].concat());
        let parent = running.pid();
        let child = until("there are two processes", || {
            let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
            let child = children.ok()?.trim().to_owned();
            (!child.is_empty()).then_some(child)
        });
        let holders = HugeHolders {
            parent,
            child,
            _running: running,
        };
        holders.both_have([32, 0]);
        holders
    }

    /// Waits until both processes, which read all pages again, have these on each node.
    fn both_have(&self, expected: [u64; 2]) {
        for pid in [&self.parent, &self.child] {
            has_by_node(pid, expected);
        }
    }
}

impl Drop for HugeHolders {
    fn drop(&mut self) {
        // Pages of the pool that are in use stay when it shrinks.
        for pid in [&self.child, &self.parent] {
            kill(pid, Signal::KILL);
            let what = format!("the memory of {pid} is free");
            until(&what, || (held_by_node(pid) == [0, 0]).then_some(()));
        }
        set_pools("0");
    }
}

fn set_pools(pages: &str) {
    for node in [0, 1] {
        let pools = format!("/sys/devices/system/node/node{node}/hugepages");
        fs::write(format!("{pools}/hugepages-2048kB/nr_hugepages"), pages).unwrap();
    }
}

/// Sends a signal to a process that may have ended.
fn kill(pid: &str, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), signal);
}

fn has_by_node(pid: &str, expected: [u64; 2]) {
    until(&format!("{pid} has {expected:?}"), || {
        kill(pid, Signal::USR1);
        (held_by_node(pid) == expected).then_some(())
    });
}

/// Where the kernel moves a page of a page table that processes share, all but one of them lose
/// that table. A mapping of 2 GiB has one for a whole GiB, wherever it lies.
#[test]
fn huge_pages_move_that_processes_lose_meanwhile() {
    if !is_guest("huge_pages_move_that_processes_lose_meanwhile", "two-node") {
        return;
    }
    let (laboratory, holders) = (Laboratory::new(), HugeHolders::start());
    let words = ["move", &holders.parent, "--to", "1", "--shared", "--json"];
    let moved = laboratory.document(&words);
    assert_eq!(moved["bytes_moved"], 64 << 20, "{moved:#}");
    assert_eq!(moved["refused"].as_array().unwrap().len(), 0, "{moved:#}");
    let by_status = &moved["parts"][0]["bytes_by_node_by_status"];
    assert_eq!(by_status["1"], 64 << 20, "{moved:#}");
    holders.both_have([0, 32]);
    laboratory.run(&["undo"]).with_code(0);
    holders.both_have([32, 0]);
}

/// Whichever of them numalab looks at the pages through.
#[test]
fn huge_pages_move_although_one_of_their_processes_ends_meanwhile() {
    let test = "huge_pages_move_although_one_of_their_processes_ends_meanwhile";
    if !is_guest(test, "two-node") {
        return;
    }
    for ends_first in [true, false] {
        let (laboratory, holders) = (Laboratory::new(), HugeHolders::start());
        let (ends, stays) = match ends_first {
            true => (&holders.parent, &holders.child),
            false => (&holders.child, &holders.parent),
        };
        let options = ["--to", "1", "--shared", "--mib-per-s", "8", "--json"];
        let words = [&["move", "numalab-holder"][..], &options].concat();
        let moving = laboratory.start(&words);
        until("some pages have moved", || {
            kill(stays, Signal::USR1);
            (held_by_node(stays)[1] > 0).then_some(())
        });
        kill(ends, Signal::KILL);
        assert!(held_by_node(stays)[1] < 16, "it ended when most had moved");
        let finished = moving.finish().with_code(0);
        has_by_node(stays, [0, 32]);
        let moved: Value = serde_json::from_str(&finished.stdout).unwrap();
        assert_eq!(moved["bytes_moved"], 64 << 20, "{moved:#}");
        laboratory.run(&["undo"]).with_code(0);
        has_by_node(stays, [32, 0]);
    }
}
