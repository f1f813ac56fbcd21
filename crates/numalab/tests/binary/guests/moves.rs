//! `numalab move` on four nodes: shared and private memory, in small and huge pages, moves to every
//! kind of destination and back by `numalab undo`; a move is stopped, resumed, overtaken by another
//! program, and loses its target.
//!
//! Tests of relocation, journal.

use rustix::process::Signal;
use serde_json::Value;

use super::holders::Holders;
use super::kernel_setting::KernelSettings;
use crate::finished::Finished;
use crate::laboratory::{Laboratory, UnderWay};
use crate::patience::until;
use crate::unmet_need::is_guest;

const SHAPE: &str = "four-node-ring";

/// Moves memory on node 0 to every kind of destination; after each, undo uses only the journal.
fn moves_everywhere_and_back(kind: &str, pages: u32, policies: [&str; 4]) {
    let _pools = KernelSettings::huge_pages(8);
    let laboratory = Laboratory::new();
    let holders = Holders::start(&laboratory, 16, kind, 2);
    let before = format!("N0={pages} bind:0");
    assert_eq!(holders.nodes(), before);
    let (quarter, rest) = (pages / 4, pages / 4 * 3);
    let expected = [
        (
            "interleave",
            [0, 1, 2, 3]
                .map(|node| format!("N{node}={quarter}"))
                .join(" "),
        ),
        ("1", format!("N1={pages}")),
        ("spread=0:3,3:1", format!("N0={rest} N3={quarter}")),
        ("near-cpus", format!("N2={pages}")),
    ];
    for ((to, nodes), policy) in expected.into_iter().zip(policies) {
        laboratory
            .run(&["move", &holders.pid, "--to", to])
            .with_code(0);
        assert_eq!(holders.nodes(), format!("{nodes} {policy}"), "{kind} {to}");
        laboratory.run(&["undo"]).with_code(0);
        assert_eq!(holders.nodes(), before, "undo of {kind} {to}");
    }
    laboratory.nothing_is_left();
}

#[test]
fn shared_memory_moves_everywhere_and_back() {
    if !is_guest("shared_memory_moves_everywhere_and_back", SHAPE) {
        return;
    }
    let policies = ["interleave:0-3", "prefer:1", "interleave:0,3", "prefer:2"];
    moves_everywhere_and_back("memfd", 4096, policies);
}

#[test]
fn private_memory_moves_everywhere_and_back() {
    if !is_guest("private_memory_moves_everywhere_and_back", SHAPE) {
        return;
    }
    moves_everywhere_and_back("private", 4096, ["bind:0"; 4]);
}

#[test]
fn shared_huge_pages_move_everywhere_and_back() {
    if !is_guest("shared_huge_pages_move_everywhere_and_back", SHAPE) {
        return;
    }
    moves_everywhere_and_back("memfd-huge", 8, ["bind:0"; 4]);
}

#[test]
fn private_huge_pages_move_everywhere_and_back() {
    if !is_guest("private_huge_pages_move_everywhere_and_back", SHAPE) {
        return;
    }
    moves_everywhere_and_back("private-huge", 8, ["bind:0"; 4]);
}

/// Starts a move of 64 MiB of shared memory to node 1, which would take a minute; returns when the
/// journal says that it moves memory.
pub(super) fn slow_move<'l>(laboratory: &'l Laboratory, holders: &Holders) -> UnderWay<'l> {
    let words = [
        "move",
        &holders.pid,
        "--to",
        "1",
        "--shared",
        "--mib-per-s",
        "1",
    ];
    let mut moving = laboratory.start(&words);
    let is_at_work = format!("by process {}, still running", moving.pid());
    until("the move is at work", || {
        assert!(!moving.has_ended(), "{}", moving.stderr());
        let listed = laboratory.run(&["undo", "--list"]).with_code(0).stdout;
        let mut moved = listed.lines().filter(|line| line.contains("moved "));
        moved.any(|line| line.contains(&is_at_work)).then_some(())
    });
    moving
}

/// Asserts that one line of its output contains this.
#[track_caller]
pub(super) fn one_line_says(finished: &Finished, text: &str) {
    let lines = finished.stdout.lines().chain(finished.stderr.lines());
    let count = lines.filter(|line| line.contains(text)).count();
    assert_eq!(count, 1, "{text:?} in {finished:?}");
}

#[test]
fn a_move_locks_its_target_and_one_that_was_stopped_goes_on() {
    let test = "a_move_locks_its_target_and_one_that_was_stopped_goes_on";
    if !is_guest(test, SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let holders = Holders::start(&laboratory, 64, "memfd", 2);
    let to_one = ["move", &holders.pid, "--to", "1", "--shared"];
    let planned = laboratory.run(&[&to_one[..], &["--dry-run"]].concat());
    one_line_says(&planned.with_code(0), "64 MiB");
    assert_eq!(holders.nodes(), "N0=16384 bind:0", "after a dry run");

    let first = slow_move(&laboratory, &holders);
    // moved 4 MiB of 64 MiB; 60 to 61 s left
    let said = until("it says how long the rest takes", || {
        let said = first.stderr();
        let (_, said) = said.split_once("MiB of 64 MiB; ")?;
        Some(said.split_once(" s left")?.0.to_owned())
    });
    let least: f64 = said.split(' ').next().unwrap().parse().unwrap();
    assert!((50.0..=62.0).contains(&least), "{said}");
    let to_two = ["move", &holders.pid, "--to", "2", "--shared"];
    let second = laboratory.run(&to_two).with_code(4);
    one_line_says(&second, &format!("process {} has locked", first.pid()));
    let undo = laboratory.run(&["undo"]).with_code(4);
    one_line_says(&undo, &format!("process {}", first.pid()));
    until("a part has moved", || {
        (holders.pages_on(1) >= 4096).then_some(())
    });
    first.signal(Signal::INT);
    first.finish().with_code(130);
    let moved = holders.pages_on(1);
    assert!(
        moved < 16384 && moved.is_multiple_of(4096),
        "a part has moved: {moved}"
    );

    let with_document = [&to_one[..], &["--json"]].concat();
    let rest = &laboratory.document(&with_document)["pages_moved"];
    assert_eq!(rest, 16384 - moved);
    assert_eq!(holders.nodes(), "N1=16384 prefer:1");
    assert_eq!(laboratory.document(&with_document)["bytes_moved"], 0);
    for times in ["once", "twice"] {
        laboratory.run(&["undo"]).with_code(0);
        assert_eq!(holders.nodes(), "N0=16384 bind:0", "undo {times}");
    }
    laboratory.nothing_is_left();
}

#[test]
fn pages_that_another_process_has_moved_since_are_left_alone() {
    let test = "pages_that_another_process_has_moved_since_are_left_alone";
    if !is_guest(test, SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let holders = Holders::start(&laboratory, 64, "memfd", 2);
    let to_one = ["move", &holders.pid, "--to", "1", "--shared"];
    laboratory.run(&to_one).with_code(0);
    assert_eq!(holders.nodes(), "N1=16384 prefer:1");
    for pid in [&holders.pid, &holders.child] {
        let moved = laboratory.script(&format!("migratepages {pid} 1 3"));
        moved.with_code(0);
    }
    let undo = laboratory.run(&["undo"]).with_code(4);
    one_line_says(&undo, "another process has moved");
    assert_eq!(holders.nodes(), "N3=16384 bind:0");
    laboratory.run(&["undo", "--force"]).with_code(0);
    assert_eq!(holders.nodes(), "N0=16384 bind:0");
    laboratory.nothing_is_left();
}

/// What one change has moved twice goes back twice, the last move first: its list gets the lines of
/// a second move, which `migratepages` makes.
#[test]
fn pages_that_were_moved_twice_go_back_from_the_last_place_to_the_first() {
    let test = "pages_that_were_moved_twice_go_back_from_the_last_place_to_the_first";
    if !is_guest(test, SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let holders = Holders::start(&laboratory, 16, "memfd", 2);
    let to_one = ["move", &holders.pid, "--to", "1", "--shared"];
    laboratory.run(&to_one).with_code(0);
    let list = laboratory.state().join("numalab/moved-1.jsonl");
    let lines = std::fs::read_to_string(&list).unwrap();
    let second = lines.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["from"] = line["to"].take();
        let from = line["from"].as_str().unwrap();
        line["to"] = from.replacen('1', "3", 1).into();
        format!("{line}\n")
    });
    let second: String = second.collect();
    std::fs::write(&list, lines + &second).unwrap();
    for pid in [&holders.pid, &holders.child] {
        let moved = laboratory.script(&format!("migratepages {pid} 1 3"));
        moved.with_code(0);
    }
    assert!(
        holders.nodes().starts_with("N3=4096 "),
        "{}",
        holders.nodes()
    );
    laboratory.run(&["undo"]).with_code(0);
    assert_eq!(holders.nodes(), "N0=4096 bind:0");
    laboratory.nothing_is_left();
}

/// Small pages go back through processes that show them; where the kernel refuses that, through
/// another or through a mapping of numalab's own, which is process 0.
#[test]
fn undo_reaches_small_pages_through_another_process_where_one_is_refused() {
    let test = "undo_reaches_small_pages_through_another_process_where_one_is_refused";
    if !is_guest(test, SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let holders = Holders::start(&laboratory, 64, "memfd", 2);
    let to_one = ["move", &holders.pid, "--to", "1", "--shared"];
    for refusal in [None, Some("ESRCH"), Some("EACCES")] {
        laboratory.run(&to_one).with_code(0);
        let inject = refusal.map_or(String::new(), |error| {
            format!("-e inject=move_pages:error={error}:when=1")
        });
        let trace = "exec strace -f --seccomp-bpf -qq -o calls -e trace=move_pages";
        let undo = laboratory.script(&format!("{trace} {inject} numalab undo"));
        undo.with_code(0);
        assert_eq!(holders.nodes(), "N0=16384 bind:0", "{refusal:?}");
        let calls = std::fs::read_to_string(laboratory.folder().join("calls")).unwrap();
        assert_eq!(calls.contains("INJECTED"), refusal.is_some(), "{calls}");
        let (_, first) = calls.split_once("move_pages(").unwrap();
        let is_own = first.starts_with("0,");
        assert!(
            !is_own,
            "the first call is through a mapping of its own: {calls}"
        );
    }
    laboratory.nothing_is_left();
}

#[test]
fn a_move_whose_target_ends_says_so() {
    if !is_guest("a_move_whose_target_ends_says_so", SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let holders = Holders::start(&laboratory, 64, "memfd", 2);
    let moving = slow_move(&laboratory, &holders);
    holders.stop();
    let ended = moving.finish().with_code(8);
    one_line_says(&ended, "moved, ");
    let moved = format!("{}{}", ended.stdout, ended.stderr);
    let is_all = moved.contains("64 MiB of 64 MiB moved");
    assert!(!is_all, "it moves what nobody has any more: {moved}");
    laboratory.run(&["undo"]).with_code(0);
    laboratory.nothing_is_left();
}
