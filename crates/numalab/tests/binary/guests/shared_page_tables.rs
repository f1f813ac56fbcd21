//! Four processes share a page table of huge pages, a whole GiB of an object. When the kernel moves
//! one of its pages, all but one of them lose the table until they read again, also between the
//! calls for two nodes; that one may end, so that none shows the pages. numalab reaches them all
//! the same through its own mapping; where the kernel lacks the call for that, `undo` names them.
//!
//! Tests of relocation.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::Signal;

use super::holders::{children, end, nodes_of, signal};
use super::kernel_setting::KernelSettings;
use super::moves::one_line_says;
use crate::finished::Finished;
use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::running::Running;
use crate::unmet_need::is_guest;

const SHAPE: &str = "four-node-ring";
/// Whoever shows no pages shows the policy alone.
const NO_PAGES: &str = "interleave:0-1";
const AT_FIRST: &str = "N0=4 N1=4 interleave:0-1";
/// As undo says it of pages that it cannot reach.
const UNREACHED: &str = "no process shows 16 MiB";
/// The words that run a program on a kernel without userfaultfd(2), as far as it can tell.
const OLDER_KERNEL: [&str; 10] = [
    "strace",
    "-f",
    "--seccomp-bpf",
    "-qq",
    "-o",
    "/dev/null",
    "-e",
    "trace=userfaultfd",
    "-e",
    "inject=userfaultfd:error=ENOSYS",
];

/// The processes, with pages of nodes 0 and 1.
struct Sharers {
    /// Those that were not ended.
    pids: Vec<String>,
    _first: Running,
    _pools: KernelSettings,
}

impl Sharers {
    fn start(laboratory: &Laboratory) -> Self {
        let pools = KernelSettings::huge_pages(8);
        let ready = laboratory.file("ready", "");
        let program = ["/usr/bin/python3", "-c", include_str!("sharers.py"), &ready];
        let first = Running::start(&[&["numactl", "--interleave=0-1"][..], &program].concat());
        until("all have read", || {
            (fs::read_to_string(&ready).unwrap() == "ready").then_some(())
        });
        let pid = first.pid();
        let mut pids = children(&pid);
        pids.insert(0, pid);
        let sharers = Sharers {
            pids,
            _first: first,
            _pools: pools,
        };
        sharers.show(&[(4, AT_FIRST)]);
        sharers
    }

    /// Asserts how many of the processes show which pages by node and policy.
    #[track_caller]
    fn show(&self, expected: &[(usize, &str)]) {
        let mut found = BTreeMap::new();
        for pid in &self.pids {
            *found.entry(nodes_of(pid, 0)).or_insert(0) += 1;
        }
        let found: Vec<_> = found.iter().map(|(it, count)| (*count, &**it)).collect();
        assert_eq!(found, expected);
    }

    /// All read their pages again.
    fn read_again(&self) {
        for pid in &self.pids {
            signal(pid, Signal::USR1);
            until("it shows all pages", || {
                let nodes = nodes_of(pid, 0);
                let pages = nodes
                    .split(['=', ' '])
                    .filter_map(|it| it.parse::<u32>().ok());
                (pages.sum::<u32>() == 8).then_some(())
            });
        }
    }

    /// Asserts what they show when they have read again.
    #[track_caller]
    fn all_have(&self, nodes: &str) {
        self.read_again();
        self.show(&[(self.pids.len(), nodes)]);
    }

    fn end(&mut self, pid: &str) {
        end(pid);
        self.pids.retain(|it| it != pid);
    }

    /// Moves all pages to node 2, and ends the one that shows them then.
    fn move_and_end_the_one_that_shows(&mut self, laboratory: &Laboratory) {
        self.move_to("2", laboratory);
        let mut pids = self.pids.iter();
        let shows = pids.find(|pid| nodes_of(pid, 0).contains('N')).unwrap();
        self.end(&shows.clone());
        self.show(&[(self.pids.len(), NO_PAGES)]);
    }

    fn move_to(&self, to: &str, laboratory: &Laboratory) {
        let words = ["move", &self.pids[0], "--to", to, "--shared"];
        laboratory.run(&words).with_code(0);
    }

    /// Undoes everything; asserts what they have then.
    #[track_caller]
    fn undo(&self, laboratory: &Laboratory, expected: &str) {
        let undone = laboratory.run(&["undo"]).with_code(0);
        assert!(!said(&undone).contains(UNREACHED), "{undone:?}");
        self.all_have(expected);
    }
}

impl Drop for Sharers {
    fn drop(&mut self) {
        // The last ones first: the others are children of the first.
        for pid in self.pids.iter().rev() {
            end(pid);
        }
    }
}

fn said(finished: &Finished) -> String {
    format!("{}{}", finished.stdout, finished.stderr)
}

#[test]
fn pages_that_no_process_shows_are_reached_through_a_mapping_of_our_own() {
    let test = "pages_that_no_process_shows_are_reached_through_a_mapping_of_our_own";
    if !is_guest(test, SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let mut sharers = Sharers::start(&laboratory);
    sharers.move_to("interleave", &laboratory);
    let interleaved = "N0=2 N1=2 N2=2 N3=2 interleave:0-1";
    sharers.show(&[(1, interleaved), (3, NO_PAGES)]);
    sharers.all_have(interleaved);
    sharers.undo(&laboratory, AT_FIRST);

    sharers.move_and_end_the_one_that_shows(&laboratory);
    sharers.move_to("3", &laboratory);
    sharers.all_have("N3=8 interleave:0-1");
    sharers.undo(&laboratory, AT_FIRST);
    sharers.undo(&laboratory, AT_FIRST);
    laboratory.nothing_is_left();
}

#[test]
fn undo_names_pages_that_no_process_shows_on_an_older_kernel() {
    let test = "undo_names_pages_that_no_process_shows_on_an_older_kernel";
    if !is_guest(test, SHAPE) {
        return;
    }
    let mut laboratory = Laboratory::new();
    laboratory.launch_all_behind(&OLDER_KERNEL);
    let mut sharers = Sharers::start(&laboratory);
    sharers.move_to("spread=1:1,3:3", &laboratory);
    let spread = "N1=2 N3=6 interleave:0-1";
    sharers.show(&[(1, spread), (3, NO_PAGES)]);
    sharers.all_have(spread);
    sharers.undo(&laboratory, AT_FIRST);

    sharers.move_and_end_the_one_that_shows(&laboratory);
    let refused = laboratory.run(&["undo"]).with_code(4);
    one_line_says(&refused, UNREACHED);
    sharers.all_have("N2=8 interleave:0-1");
    sharers.undo(&laboratory, AT_FIRST);

    sharers.move_and_end_the_one_that_shows(&laboratory);
    let given_up = said(&laboratory.run(&["undo", "--force"]).with_code(0));
    let is_named = |line: &&str| line.contains("; 16 MiB ") && line.ends_with(" stay");
    assert_eq!(given_up.lines().filter(is_named).count(), 1, "{given_up}");
    laboratory.nothing_is_left();
}

/// The process through which undo reaches pages ends after a call of undo for them, which may leave
/// none that shows the rest: undo says so, unless all are back.
#[test]
fn undo_says_what_is_not_back_when_a_process_ends_meanwhile() {
    let test = "undo_says_what_is_not_back_when_a_process_ends_meanwhile";
    if !is_guest(test, SHAPE) {
        return;
    }
    for call in [1, 4, 5] {
        let laboratory = Laboratory::new();
        let mut sharers = Sharers::start(&laboratory);
        sharers.move_to("2", &laboratory);
        sharers.read_again();
        ends_after(call, &laboratory, &mut sharers);
        sharers.undo(&laboratory, AT_FIRST);
        drop(sharers);
        laboratory.nothing_is_left();
    }
}

fn ends_after(call: u32, laboratory: &Laboratory, sharers: &mut Sharers) {
    let undo = format!(
        "strace -f -qq -o calls -e trace=userfaultfd,move_pages -e signal=SIGSTOP \
            -e inject=userfaultfd:error=ENOSYS -e inject=move_pages:signal=SIGSTOP:when={call} \
            numalab undo >said 2>&1; echo $? >status"
    );
    let file = |name| fs::read_to_string(laboratory.folder().join(name)).unwrap_or_default();
    let mut undo = Running::of(&mut laboratory.shell(&undo));
    let calls = until("undo is stopped", || {
        let calls = file("calls");
        assert!(
            undo.0.try_wait().unwrap().is_none(),
            "it needs fewer calls: {calls}"
        );
        calls.contains("stopped by SIGSTOP").then_some(calls)
    });
    let (_, last) = calls.rsplit_once("move_pages(").unwrap();
    let (pid, _) = last.split_once(',').unwrap();
    sharers.end(pid);
    let tracer = &children(&undo.pid())[0];
    signal(&children(tracer)[0], Signal::CONT);
    undo.0.wait().unwrap();
    sharers.read_again();
    let (status, said) = (file("status"), file("said"));
    let unreached = said
        .lines()
        .filter(|line| line.contains("no process shows"))
        .count();
    match (status.trim(), unreached) {
        ("0", 0) => sharers.show(&[(3, AT_FIRST)]),
        // All three have the same, wherever it is.
        ("4", 1) => sharers.all_have(&nodes_of(&sharers.pids[0], 0)),
        _ => panic!("after call {call}, status {status}: {said}"),
    }
}
