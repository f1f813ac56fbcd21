//! External programs: the number they print, proof of their placement, and how they can fail.

use linux::Root;
use rustix::process::{Signal, kill_process};

use crate::experiment_file::ExperimentFile;
use crate::laboratory::{Laboratory, UnderWay, kill, pid};
use crate::patience::until;
use crate::processes::Role;
use crate::unmet_need::has_groups;

/// Asserts that every trial of one case with these keys fails with these texts.
#[track_caller]
fn fails(laboratory: &Laboratory, keys: &str, says: &[&str]) {
    let experiment = ExperimentFile::new("one", "[load]\nwork = \"command\"").case("one", keys);
    let path = laboratory.file("fails.toml", experiment.text());
    let finished = laboratory.run(&["run", &path, "--trials", "5"]);
    finished.with_code(8).says(says);
}

#[test]
fn a_program_runs_placed_and_its_number_is_compared() {
    let laboratory = Laboratory::new();
    let defaults = "[load]\nwork = \"command\"\nnumber = \"regex:^rate = (.*)$\"\nunit = \"MB/s\"\n\
                    better = \"less\"";
    // The output depends on the placement, so it would reveal a program that ran elsewhere.
    let print = "echo noise 7; grep Cpus_allowed_list /proc/self/status; echo rate = $((40 + 2))";
    let experiment = ExperimentFile::new("one", defaults)
        .case("one", &format!("command = \"{print}\"\ncpus = \"0\""))
        .case("again", &format!("command = \"{print}\"\ncpus = \"0\""))
        .case(
            "bound",
            &format!("command = \"{print}\"\nown-allocation = \"bind:first-node\""),
        );
    let path = laboratory.file("command.toml", experiment.text());
    let run = laboratory.document(&["run", &path, "--json", "--trials", "5"]);
    assert_eq!(
        (&run["metric"], run["cases"].as_array().unwrap().len()),
        (&"cost".into(), 3)
    );
    for case in run["cases"].as_array().unwrap() {
        assert_eq!(case["trials_valid"], 5, "{case:#}");
        for trial in case["trials"].as_array().unwrap() {
            assert_eq!(trial["value"], 42.0);
            let session = &trial["evidence"]["sessions"][0];
            if case["name"] == "one" {
                assert_eq!(session["cpus_allowed"], "0");
            }
            if case["name"] == "bound" {
                assert_eq!(session["policy"], "bind:0");
            }
        }
    }
    assert_eq!(run["controls"][0]["verdict"], "tie");
    let shown = laboratory.run(&["show", "last"]).with_code(0).stdout;
    assert!(shown.contains("MB/s"), "{shown}");
    laboratory.nothing_is_left();
}

#[test]
fn a_program_that_fails_or_prints_no_number_is_told_of() {
    let laboratory = Laboratory::new();
    let command = |text: &str| format!("command = \"{text}\"");
    fails(
        &laboratory,
        &command("echo 3; echo no disk >&2; exit 5"),
        &["ended with exit status: 5", "no disk"],
    );
    fails(
        &laboratory,
        &command("kill -9 $$"),
        &["ended with signal: 9"],
    );
    fails(
        &laboratory,
        &command("echo done"),
        &["no number in", "done"],
    );
    fails(&laboratory, &command("true"), &["no number in nothing"]);
    fails(
        &laboratory,
        &command("/nonexistent/program"),
        &["ended with exit status: 127", "/nonexistent/program"],
    );
    fails(
        &laboratory,
        "command = \"echo 1 2\"\nnumber = \"json:/a\"",
        &["not a JSON document"],
    );
    laboratory.nothing_is_left();
}

#[test]
fn what_cannot_be_run_is_refused_beforehand() {
    let laboratory = Laboratory::new();
    let refused = |keys: &str, says: &[&str]| {
        let experiment = ExperimentFile::new("one", "[load]\nwork = \"command\"").case("one", keys);
        let path = laboratory.file("refused.toml", experiment.text());
        laboratory.run(&["run", &path]).with_code(2).says(says);
    };
    refused("", &["needs a command", "set command ="]);
    refused(
        "command = \"echo 1\"\nnumber = \"regex:(\"",
        &["`number` in [[case]]", "regex:EXPRESSION", "regex:("],
    );
    refused(
        "command = \"echo 1\"\nbetter = \"mor\"",
        &["did you mean `more`?"],
    );
    refused(
        "command = \"echo 1\"\nown-allocation = \"per-node:all\"",
        &["a program has no buffer pools"],
    );
    laboratory.nothing_is_left();
}

/// A shell that waits for others: one in its process group, one in a new session, one whose parent
/// has ended.
fn family(seconds: &str) -> String {
    format!(
        "sleep {seconds}0 & setsid sleep {seconds}1 & (setsid sleep {seconds}2 &); \
         sleep {seconds}3; echo 1"
    )
}
const FAMILY_MEMBERS: usize = 4;

/// Returns the first digits of a sleep time that no other test and no other test run uses.
fn seconds_of(test: u8) -> String {
    format!("{test}{:08}", std::process::id())
}

/// Counts the processes started as `sleep SECONDS` whose seconds begin with these digits.
fn sleepers(digits: &str) -> usize {
    let root = Root::live();
    let pids = linux::proc_stat::pids(&root).unwrap();
    let words = |pid: &u32| linux::proc_stat::command_words(&root, *pid).unwrap_or_default();
    let is_one = |pid: &u32| match words(pid).as_slice() {
        [program, seconds] => program == "sleep" && seconds.starts_with(digits),
        _ => false,
    };
    pids.iter().filter(|pid| is_one(pid)).count()
}

fn program(laboratory: &Laboratory, command: &str, keys: &str) -> String {
    let keys = format!("command = {command:?}\n{keys}");
    let experiment = ExperimentFile::new("one", "[load]\nwork = \"command\"").case("one", &keys);
    laboratory.file("program.toml", experiment.text())
}

/// Applies `end` to a run in the middle of a program that has started others, and asserts that no
/// process is left.
#[track_caller]
fn nobody_is_left_after(test: u8, end: impl Fn(&UnderWay<'_>), exit_code: Option<i32>) {
    let laboratory = Laboratory::new();
    let seconds = seconds_of(test);
    let path = program(&laboratory, &family(&seconds), "");
    let under_way = laboratory.start(&["run", &path]);
    until("all programs run", || {
        (sleepers(&seconds) == FAMILY_MEMBERS).then_some(())
    });
    end(&under_way);
    let finished = under_way.finish();
    assert_eq!(finished.status.code(), exit_code, "{}", finished.stderr);
    until("all programs are gone", || {
        (sleepers(&seconds) == 0).then_some(())
    });
    laboratory.nothing_is_left();
}

#[test]
fn ctrl_c_ends_what_a_program_started() {
    nobody_is_left_after(1, |under_way| under_way.signal(Signal::INT), Some(130));
}

/// numalab cannot catch SIGKILL: the guardian sees that its pipe is closed.
#[test]
fn a_kill_of_numalab_ends_what_a_program_started() {
    nobody_is_left_after(2, |under_way| under_way.kill(), None);
}

/// A leftover process would hold open the pipe from which the number is read.
#[test]
fn what_a_program_leaves_ends_with_it() {
    let laboratory = Laboratory::new();
    let seconds = seconds_of(3);
    let command = format!("setsid sleep {seconds}0 & (sleep {seconds}1 &) ; echo 42");
    let path = program(&laboratory, &command, "");
    let run = laboratory.document(&["run", &path, "--json", "--trials", "5"]);
    assert_eq!(run["cases"][0]["trials_valid"], 5, "{run:#}");
    assert_eq!(sleepers(&seconds), 0);
    laboratory.nothing_is_left();
}

/// `pkill -9 numalab` kills the guardian, too. With a cgroup, undo ends the processes in it.
#[test]
fn undo_ends_what_a_program_left_in_its_group() {
    if !has_groups("undo_ends_what_a_program_left_in_its_group") {
        return;
    }
    let laboratory = Laboratory::new();
    let seconds = seconds_of(4);
    let command = format!("(setsid sleep {seconds}0 &); sleep {seconds}1; echo 1");
    let path = program(
        &laboratory,
        &command,
        "cpus = \"all:1\"\nmechanism = \"group\"",
    );
    let mut under_way = laboratory.start(&["run", &path]);
    let guardian = under_way.until_there_are(1, Role::Guardian)[0];
    until("both programs run", || {
        (sleepers(&seconds) == 2).then_some(())
    });
    // While stopped, it cannot act between the two kills.
    kill_process(pid(guardian), Signal::STOP).unwrap();
    under_way.kill();
    under_way.finish();
    kill(guardian);
    // The shell dies with its parent, the guardian; its children do not.
    assert!(sleepers(&seconds) > 0);
    assert_eq!(laboratory.groups().len(), 1);
    let undone = laboratory.run(&["undo"]).with_code(0).stdout;
    assert!(undone.starts_with("undone: processor group "), "{undone}");
    assert_eq!(sleepers(&seconds), 0);
    laboratory.nothing_is_left();
}
