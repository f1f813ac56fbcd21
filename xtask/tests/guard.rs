//! `cargo xtask guard`: what it started is gone when its benchmark is, or at the limit.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const XTASK: &str = env!("CARGO_BIN_EXE_xtask");
/// A program that starts another one in the background, and prints the ids of both.
const FAMILY: &str = "sleep 600 & echo $$; echo $!; wait";

fn guard(limit_s: &str, words: &[&str]) -> Command {
    let mut command = Command::new(XTASK);
    command.args(["guard", "--limit-s", limit_s, "--"]);
    command.args(words).stdout(Stdio::piped());
    command
}

/// Reads the two process ids that the family prints.
fn family(stdout: &mut BufReader<ChildStdout>) -> [u32; 2] {
    [(), ()].map(|()| {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        line.trim().parse().unwrap()
    })
}

fn lines(child: &mut Child) -> BufReader<ChildStdout> {
    BufReader::new(child.stdout.take().unwrap())
}

/// Whether a process does not exist, or is a zombie.
fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ")
        .next()
        .is_none_or(|rest| rest.is_empty() || rest.starts_with('Z'))
}

#[track_caller]
fn soon(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "not within 20 s: {what}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// `cat` stands for the benchmark: it holds the other end of the guard's stdin, and is killed.
#[test]
fn when_the_benchmark_is_killed_nothing_that_it_started_runs_on() {
    let mut benchmark = Command::new("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let alive = benchmark.stdout.take().unwrap();
    let mut guard = guard("600", &["sh", "-c", FAMILY])
        .stdin(alive)
        .spawn()
        .unwrap();
    let pids = family(&mut lines(&mut guard));
    assert!(!pids.into_iter().any(is_gone), "{pids:?}");
    benchmark.kill().unwrap();
    benchmark.wait().unwrap();
    soon("both are gone", || pids.into_iter().all(is_gone));
    assert_eq!(guard.wait().unwrap().code(), Some(137));
}

#[test]
fn at_the_limit_the_program_and_its_children_end_and_what_they_said_is_kept() {
    let start = Instant::now();
    let mut guard = guard("0.3", &["sh", "-c", FAMILY]);
    let mut guard = guard.stdin(Stdio::piped()).spawn().unwrap();
    let _alive = guard.stdin.take();
    let pids = family(&mut lines(&mut guard));
    assert_eq!(guard.wait().unwrap().code(), Some(124));
    assert!(start.elapsed() >= Duration::from_millis(300));
    soon("both are gone", || pids.into_iter().all(is_gone));
}

#[test]
fn a_program_that_ends_leaves_no_child_and_its_status_is_that_of_the_guard() {
    let script = "sleep 600 & echo $$; echo $!; exit 7";
    let mut guard = guard("600", &["sh", "-c", script]);
    let mut guard = guard.stdin(Stdio::piped()).spawn().unwrap();
    let _alive = guard.stdin.take();
    let pids = family(&mut lines(&mut guard));
    assert_eq!(guard.wait().unwrap().code(), Some(7));
    soon("both are gone", || pids.into_iter().all(is_gone));
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let output = guard("9", &["no-such-program"])
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && said.contains("cannot start no-such-program"),
        "{said}"
    );
}
