//! `numalab watch` without a terminal: documents, text, recordings.
//!
//! Tests of watch, live.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::postgres_server::{Server, installed};
use crate::running::Running;
use crate::unmet_need::is_guest;

fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The value of a name in a file like /proc/meminfo, in bytes.
fn kibibytes(file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap();
    let line = text.lines().find(|line| line.contains(name)).unwrap();
    let mut numbers = line
        .split_whitespace()
        .rev()
        .filter_map(|it| it.parse::<u64>().ok());
    numbers.next().unwrap() << 10
}

#[test]
fn documents_say_what_the_kernel_says() {
    let laboratory = Laboratory::new();
    let target = Running::start(&["sleep", "600"]);
    let words = ["watch", "--json", "--count", "2", "--interval", "0.2"];
    let snapshots = laboratory.run(&words).with_code(0);
    let snapshots = lines(&snapshots.stdout);
    assert_eq!(snapshots.len(), 2);
    let (first, last) = (&snapshots[0], &snapshots[1]);
    assert_eq!(first["format"], "numalab.snapshot/1");
    assert!(last["uptime_s"].as_f64() > first["uptime_s"].as_f64());
    for node in last["nodes"].as_array().unwrap() {
        let directory = format!("/sys/devices/system/node/node{}", node["id"]);
        let meminfo = format!("{directory}/meminfo");
        assert_eq!(node["memory_bytes"], kibibytes(&meminfo, "MemTotal"));
        let cpus = fs::read_to_string(format!("{directory}/cpulist")).unwrap();
        assert_eq!(node["cpus"], cpus.trim());
        let numastat = fs::read_to_string(format!("{directory}/numastat")).unwrap();
        let hit = numastat
            .lines()
            .find_map(|line| line.strip_prefix("numa_hit "));
        let hit: u64 = hit.unwrap().parse().unwrap();
        // A counter that only grows: read before, between and after.
        let then = |it: &Value| it["nodes"][0]["allocations"]["hit"].as_u64().unwrap();
        assert!(then(first) <= then(last) && (node["id"] != 0 || then(last) <= hit));
    }
    let pid: u64 = target.pid().parse().unwrap();
    let mut processes = last["processes"].as_array().unwrap().iter();
    let process = processes.find(|it| it["pid"] == pid).unwrap();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let start: u64 = stat.split(' ').nth(21).unwrap().parse().unwrap();
    assert_eq!(
        (&process["name"], &process["start_ticks"]),
        (&"sleep".into(), &start.into())
    );
}

#[test]
fn a_recording_is_replayed_as_it_was_and_never_overwritten() {
    let laboratory = Laboratory::new();
    let file = laboratory.state().join("recording").display().to_string();
    let words = [
        "watch",
        "--record",
        &file,
        "--json",
        "--count",
        "3",
        "--interval",
        "0.2",
    ];
    let live = laboratory.run(&words).with_code(0);
    assert!(
        live.stderr.contains("recorded 3 snapshots"),
        "{}",
        live.stderr
    );
    let replayed = laboratory
        .run(&["watch", "--replay", &file, "--json"])
        .with_code(0);
    assert_eq!(replayed.stdout, live.stdout);
    let again = laboratory.run(&words).with_code(2);
    assert!(
        again.stderr.contains("name a file that does not exist yet"),
        "{}",
        again.stderr
    );
    let text = laboratory
        .run(&["watch", "--replay", &file, "--once"])
        .with_code(0);
    assert!(text.stdout.contains("Processes"), "{}", text.stdout);

    let trace = laboratory.state().join("trace").display().to_string();
    laboratory
        .run(&["watch", "--replay", &file, "--perfetto", &trace])
        .with_code(0);
    let trace: Value = serde_json::from_str(&fs::read_to_string(trace).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let free = events
        .iter()
        .filter(|event| event["name"] == "node 0 free bytes");
    let free: Vec<&Value> = free.map(|event| &event["args"]["free"]).collect();
    let snapshots = lines(&live.stdout);
    let expected: Vec<&Value> = snapshots
        .iter()
        .map(|it| &it["nodes"][0]["free_bytes"])
        .collect();
    assert_eq!(free, expected);
}

#[test]
fn a_recording_that_was_cut_or_killed_is_replayed_as_far_as_it_is_whole() {
    let laboratory = Laboratory::new();
    let file = laboratory.state().join("recording");
    let path = file.display().to_string();
    let mut recording = laboratory.start(&["watch", "--record", &path, "--interval", "0.2"]);
    let words = ["watch", "--replay", &path, "--json"];
    until("two snapshots are recorded", || {
        assert!(!recording.has_ended(), "{}", recording.stderr());
        let replayed = laboratory.run(&words);
        (lines(&replayed.stdout).len() >= 2).then_some(())
    });
    recording.signal(Signal::KILL);
    recording.finish();
    let killed = laboratory.run(&words).with_code(0);
    let snapshots = lines(&killed.stdout).len();
    assert!(
        snapshots >= 2 && killed.stderr.contains("was cut off"),
        "{}",
        killed.stderr
    );
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() * 2 / 3]).unwrap();
    let cut = laboratory.run(&words).with_code(0);
    assert!(lines(&cut.stdout).len() < snapshots && cut.stderr.contains("was cut off"));

    for (content, why) in [
        (&b"no recording"[..], "cannot replay"),
        (b"", "not a recording"),
    ] {
        fs::write(&file, content).unwrap();
        let refused = laboratory.run(&words).with_code(2);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
    fs::remove_file(&file).unwrap();
    laboratory.run(&words).with_code(2);
}

#[test]
fn without_a_terminal_there_is_no_screen_and_advice() {
    let laboratory = Laboratory::new();
    let refused = laboratory.run(&["watch"]).with_code(2);
    assert!(
        refused.stderr.contains("is not a terminal"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("--once"), "{}", refused.stderr);
    let ended = laboratory.run(&["watch", "4194304", "--once"]).with_code(2);
    assert!(ended.stderr.contains("4194304"), "{}", ended.stderr);
    for interval in ["0", "-1", "nan", "inf", "0.1", "3601"] {
        laboratory
            .run(&["watch", "--interval", interval])
            .with_code(2);
    }
}

#[test]
fn whoever_stops_reading_ends_it_and_so_does_the_end_of_the_target() {
    let laboratory = Laboratory::new();
    let mut command = laboratory.command(&["watch", "--json", "--interval", "0.2"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut first).unwrap();
    drop(stdout);
    assert!(child.wait().unwrap().success());

    let mut target = Running::start(&["sleep", "600"]);
    let watching = laboratory.start(&["watch", &target.pid(), "--json", "--interval", "0.2"]);
    until("a snapshot", || {
        watching.stdout().contains('\n').then_some(())
    });
    target.0.kill().unwrap();
    target.0.wait().unwrap();
    let ended = watching.finish().with_code(0);
    assert!(ended.stderr.contains("has ended"), "{}", ended.stderr);
    let snapshots = lines(&ended.stdout);
    assert_eq!(
        snapshots.last().unwrap()["processes"],
        Value::Array(Vec::new())
    );
}

#[test]
fn a_postgresql_is_found_and_named_by_its_directory() {
    let Some(bin) = installed("a_postgresql_is_found_and_named_by_its_directory") else {
        return;
    };
    let laboratory = Laboratory::new();
    let server = Server::start(&bin);
    let name = format!("postgres:{}", server.data());
    let snapshot = laboratory.document(&["watch", "--once", "--json"]);
    let of = |snapshot: &Value| {
        let instances = snapshot["instances"].as_array().unwrap().clone();
        instances.into_iter().find(|it| it["name"] == name.as_str())
    };
    let instance = of(&snapshot).unwrap_or_else(|| panic!("{name}: {snapshot:#}"));
    let pids = fs::read_to_string(format!("{}/postmaster.pid", server.data())).unwrap();
    let postmaster: u64 = pids.lines().next().unwrap().parse().unwrap();
    let pids = instance["pids"].as_array().unwrap();
    assert!(
        pids.contains(&postmaster.into()) && pids.len() > 3,
        "{pids:?}"
    );
    let targeted = laboratory.document(&["watch", &name, "--once", "--json"]);
    let shown = targeted["processes"].as_array().unwrap().len();
    assert!(shown > 3 && of(&targeted).is_some(), "{targeted:#}");
}

/// Takes memory of the node to which it is bound, 4 MiB every tenth of a second.
const GROWS: &str = "
import time
held = [bytearray(b'x') * (64 << 20)]
print('begun', flush=True)
while True:
    held.append(bytearray(b'x') * (4 << 20))
    time.sleep(0.1)
";

#[test]
fn the_node_that_runs_out_is_forecast_with_who_is_hit() {
    if !is_guest(
        "the_node_that_runs_out_is_forecast_with_who_is_hit",
        "two-node",
    ) {
        return;
    }
    let laboratory = Laboratory::new();
    let growing = ["numactl", "--membind=1", "/usr/bin/python3", "-c", GROWS];
    // The first look at its memory must find most of it: looks are rare in a guest, where each
    // costs many times what it costs elsewhere.
    let mut target = Running::start_piped(&growing);
    let begun = BufReader::new(target.0.stdout.take().unwrap())
        .lines()
        .next();
    assert_eq!(begun.unwrap().unwrap(), "begun");
    let pid = target.pid();
    let file = laboratory.state().join("recording").display().to_string();
    let words = [
        "watch",
        &pid,
        "--record",
        &file,
        "--count",
        "24",
        "--interval",
        "0.25",
    ];
    laboratory.run(&words).with_code(0);
    let replayed = laboratory
        .run(&["watch", "--replay", &file, "--once"])
        .with_code(0);
    let text = replayed
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(text.contains("! node 1 runs out of memory in "), "{text}");
    // A busy guest may not look at all of it in this time, and says so.
    let hit = |of: &str| text.contains(&format!("would hit {pid} (most of its memory {of}"));
    assert!(hit("is there)") || hit("that was seen is there)"), "{text}");
}
