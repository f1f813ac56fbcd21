//! `numalab predict --dose` and `numalab try` are killed at random moments: one `undo` restores the
//! policies and the places of all pages, and the CPUs of threads.
//!
//! Tests of switchback, relocation, placement, journal.

use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use super::doses::{held, sga};
use super::kernel_setting::pages_stay_where_they_are;
use super::random_kills::are_made_up_for;
use crate::laboratory::{Laboratory, UnderWay};
use crate::patience::until;
use crate::unmet_need::is_guest;

/// Kills a session this long after it began, and says what it said last.
fn killed(mut session: UnderWay<'_>, later: Duration) -> String {
    until("windows begin", || {
        assert!(!session.has_ended(), "{}", session.stderr());
        session.stderr().contains("windows of").then_some(())
    });
    sleep(later);
    session.kill();
    let finished = session.finish();
    let last = finished.stderr.lines().last().unwrap_or_default();
    format!("after {later:?}: {last}")
}

#[test]
fn killed_sessions_are_taken_back() {
    if !is_guest("killed_sessions_are_taken_back", "two-node") {
        return;
    }
    let _settings = pages_stay_where_they_are();
    let laboratory = Laboratory::new();
    let (held, pid) = held(&laboratory);
    let state = || [sga(&pid), vec![cpus_of_threads(&pid)]].concat();
    let doses = ["predict", &pid, "--dose"];
    let tried = ["try", &pid, "--to", "nodes:0+near-cpus", "--to", "cpus:1"];
    are_made_up_for((6, 1), &laboratory, state, |random| {
        let words = if random.bool() {
            &doses[..]
        } else {
            &tried[..]
        };
        let short = ["--window", "1", "--for", "3000"];
        let session = laboratory.start(&[words, &short].concat());
        // Into a window, a move there or a move back.
        let later = Duration::from_millis(random.u64(0..6000));
        Ok(format!("{} {}", words[0], killed(session, later)))
    });
    held.signal(Signal::INT);
    held.finish().with_code(0);
    laboratory.nothing_is_left();
}

/// The CPUs of each thread of a process, as the kernel says.
fn cpus_of_threads(pid: &str) -> String {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let of_thread = |thread: std::fs::DirEntry| {
        let status = std::fs::read_to_string(thread.path().join("status")).ok()?;
        let mut lines = status.lines();
        let cpus = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        Some(format!("{:?} {}", thread.file_name(), cpus.trim()))
    };
    let mut threads: Vec<String> = threads.flatten().filter_map(of_thread).collect();
    threads.sort();
    threads.join(", ")
}
