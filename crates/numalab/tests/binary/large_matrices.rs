//! Machines of many nodes: what reads, plans or judges a matrix takes a time that is linear in its
//! cells.
//!
//! Tests of model, judgement, experiment, firmware, report.

use model::{CpuSet, NodeId};
use testing::machine::{Core, Machine, Memory, Node};

use crate::laboratory::Laboratory;

/// Nodes of the small machine. The large one has four times as many, and 16 times as many cells.
const NODES: u32 = 64;
const TIMES_NODES: u32 = 4;

/// How often a command runs on the small machine and on the large one while its time is taken: a
/// shell may know it to 0.01 s only, which is half of what the small one takes once.
const RUNS: (u32, u32) = (16, 1);

/// What is linear in cells takes 16 times as long, less what starting takes, and more for sorting
/// rows that are four times as long. What searches a list of nodes for each cell takes 64 times.
const TIMES_LONGER_MAX: f64 = 24.0;

/// The firmware's distance: nodes are in groups of four, which are in groups of sixteen.
fn distance(from: u32, to: u32) -> u32 {
    match (from == to, from / 4 == to / 4, from / 16 == to / 16) {
        (true, ..) => 10,
        (_, true, _) => 16,
        (_, _, true) => 22,
        _ => 32,
    }
}

/// Returns a table with a row for each node.
fn table(nodes: u32, cell: impl Fn(u32, u32) -> String) -> String {
    let row = |from| {
        let cells: Vec<String> = (0..nodes).map(|to| cell(from, to)).collect();
        cells.join(" ") + "\n"
    };
    (0..nodes).map(row).collect()
}

/// Returns the seconds of CPU that numalab takes with these arguments, by so many runs: the least
/// of three times, since another process on the same core makes any process slower.
fn cpu_s(runs: u32, arguments: &[&str]) -> f64 {
    let laboratory = timing(runs);
    let once = |_| {
        let finished = laboratory.run(arguments).with_code(0);
        // The shell's own times, then those of what it waited for: `0m0.071s 0m0.012s`.
        let line = finished.stderr.lines().last().unwrap_or_default();
        let seconds = line.split_whitespace().map(|time| {
            let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
            60.0 * minutes.parse::<f64>().unwrap() + seconds.parse::<f64>().unwrap()
        });
        seconds.sum::<f64>() / f64::from(runs)
    };
    (0..3).map(once).fold(f64::INFINITY, f64::min)
}

/// Returns a laboratory whose commands run so often, and write their CPU time to stderr.
fn timing(runs: u32) -> Laboratory {
    let mut laboratory = Laboratory::new();
    let again = "\"$0\" \"$@\" > /dev/null; ".repeat(runs as usize - 1);
    let shell = format!("{again}\"$0\" \"$@\"; code=$?; times >&2; exit $code");
    laboratory.launch_behind(&["sh", "-c", &shell]);
    laboratory
}

#[track_caller]
fn check(arguments: &[&str], small_s: f64, large_s: f64) {
    let times = large_s / small_s;
    assert!(
        times <= TIMES_LONGER_MAX,
        "{arguments:?}: {times:.1} times as long for 16 times the cells ({small_s} s, {large_s} s)"
    );
}

#[test]
fn a_matrix_is_read_and_judged_in_a_time_that_is_linear_in_its_cells() {
    let laboratory = Laboratory::new();
    // Every fourth row disagrees with the firmware, so that there is something to find.
    let latency = |from: u32, to: u32| {
        let near = if from.is_multiple_of(4) {
            64 - distance(from, to)
        } else {
            distance(from, to)
        };
        let ns = if from == to { 80 } else { 9 * near };
        format!("{ns}.{}", (from * 7 + to * 13) % 10)
    };
    let files = |nodes: u32| {
        let file = |name: &str, text| laboratory.file(&format!("{name}-{nodes}"), text);
        (
            file("matrix", table(nodes, latency)),
            file(
                "slit",
                table(nodes, |from, to| distance(from, to).to_string()),
            ),
        )
    };
    let (small, large) = (files(NODES), files(TIMES_NODES * NODES));
    for (command, options) in [
        ("latency", &["--json"][..]),
        ("latency", &[]),
        ("firmware", &["--json"]),
    ] {
        let time = |runs, (matrix, slit): &(String, String)| {
            let files = [command, "--from", matrix, "--distances", slit];
            cpu_s(runs, &[&files, options].concat())
        };
        let times = (time(RUNS.0, &small), time(RUNS.1, &large));
        check(&[&[command], options].concat(), times.0, times.1);
    }
}

/// Returns the files of a machine of this many nodes, each with two CPUs.
fn machine(nodes: u32) -> testing::tree::Unpacked {
    let memory = Memory {
        total_mib: 32 << 10,
        free_mib: 30 << 10,
    };
    let cpus = |node: u32| -> CpuSet { format!("{}-{}", 2 * node, 2 * node + 1).parse().unwrap() };
    let machine = Machine {
        cpu_model: "Example CPU",
        nodes: (0..nodes)
            .map(|id| Node {
                id,
                cpus: cpus(id),
                memory: Some(memory),
                ..Node::default()
            })
            .collect(),
        distances: Some(
            (0..nodes)
                .map(|from| (0..nodes).map(|to| distance(from, to)).collect())
                .collect(),
        ),
        cores: (0..nodes)
            .map(|package| Core {
                package,
                core: 0,
                cpus: cpus(package),
            })
            .collect(),
        ..Machine::default()
    };
    machine.tree().expand().unwrap()
}

#[test]
fn a_matrix_is_planned_in_a_time_that_is_linear_in_its_cells() {
    let laboratory = Laboratory::new();
    let (small, large) = (machine(NODES), machine(TIMES_NODES * NODES));
    for command in ["latency", "bandwidth"] {
        let time = |runs, machine: &testing::tree::Unpacked| {
            let root = machine.path().to_str().unwrap();
            cpu_s(runs, &[command, "--dry-run", "--root", root])
        };
        let times = (time(RUNS.0, &small), time(RUNS.1, &large));
        check(&[command, "--dry-run"], times.0, times.1);
    }
    // The plan is the same as that of the small machine, but for its size.
    let root = large.path().to_str().unwrap();
    let plan = laboratory.document(&["latency", "--dry-run", "--json", "--root", root]);
    let cells = u64::from(TIMES_NODES * NODES).pow(2);
    assert_eq!(
        plan["runs"][0]["cases"].as_u64(),
        Some(cells + 1),
        "{plan:#}"
    );
    let last = NodeId(TIMES_NODES * NODES - 1);
    assert_eq!(plan["memory_nodes"], format!("0-{last}"), "{plan:#}");
}
