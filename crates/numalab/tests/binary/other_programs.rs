//! External programs: the number they print, proof of their placement, and how they can fail.
//!
//! Tests of experiment.

use linux::Root;
use rustix::process::{Signal, kill_process};

use crate::experiment_file::ExperimentFile;
use crate::finished::valid_trials;
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
            // Another number: the same in all cases would be an error.
            &format!("command = \"{print}1\"\nown-allocation = \"bind:first-node\""),
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
            let printed = if case["name"] == "bound" { 421.0 } else { 42.0 };
            assert_eq!(trial["value"], printed);
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
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert!(words.join(" ").contains("as the program took"), "{shown}");
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

/// The keys of a server that ends by SIGTERM and leaves `stopped`, and of a load on it.
fn server(laboratory: &Laboratory, ready: &str, load: &str) -> String {
    let folder = laboratory.file("server", "");
    let server = format!(
        "trap 'touch {folder}.stopped; rm {folder}.up; exit 0' TERM; touch {folder}.up; \
         while :; do sleep 0.05; done"
    );
    format!(
        "server = {server:?}\nready = \"{}\"\ncommand = {load:?}",
        ready.replace("UP", &format!("{folder}.up"))
    )
}

#[test]
fn a_server_is_placed_loaded_and_stopped_and_its_load_runs_elsewhere() {
    let laboratory = Laboratory::new();
    // The last number is the CPU of the load.
    let load = "echo 7; grep Cpus_allowed_list /proc/self/status";
    let keys = server(&laboratory, "test -f UP", load);
    let keys =
        format!("{keys}\ncpus = \"0\"\nclient-cpus = \"1\"\nown-allocation = \"bind:first-node\"");
    let experiment = ExperimentFile::new("one", "[load]\nwork = \"command\"").case("one", &keys);
    let path = laboratory.file("server.toml", experiment.text());
    let run = laboratory.document(&["run", &path, "--json", "--trials", "5"]);
    let case = &run["cases"][0];
    assert_eq!(case["trials_valid"], 5, "{case:#}");
    for trial in case["trials"].as_array().unwrap() {
        assert_eq!(trial["value"], 1.0, "{trial:#}");
        let evidence = &trial["evidence"];
        let session = &evidence["sessions"][0];
        assert_eq!(
            (&session["cpus_allowed"], &session["policy"]),
            (&"0".into(), &"bind:0".into())
        );
        let after = &evidence["server_memory"]["bytes_by_node_after"];
        assert!(after["0"].as_u64().unwrap() > 4096, "{after}");
    }
    let stopped = laboratory.file("server", "") + ".stopped";
    assert!(
        std::path::Path::new(&stopped).exists(),
        "it was not asked to end"
    );
    let shown = laboratory
        .run(&["show", "last", "--full"])
        .with_code(0)
        .stdout;
    assert!(shown.contains("memory of the server"), "{shown}");
    laboratory.nothing_is_left();
}

#[test]
fn a_server_that_does_not_answer_or_ends_is_told_of() {
    let laboratory = Laboratory::new();
    let ends = |server: &str, ready: &str, load: &str| {
        format!("server = {server:?}\nready = {ready:?}\ncommand = {load:?}")
    };
    fails(
        &laboratory,
        &ends("echo no room >&2; exit 3", "false", "echo 1"),
        &[
            "the server ended before it answered",
            "exit status: 3",
            "no room",
        ],
    );
    // The load lets the server end, so it ends during the load on the slowest machine too.
    let end = laboratory.file("end", "");
    std::fs::remove_file(&end).unwrap();
    fails(
        &laboratory,
        &ends(
            &format!("until rm {end} 2> /dev/null; do sleep 0.02; done; echo gone >&2"),
            "true",
            &format!("touch {end}; sleep 20; echo 1"),
        ),
        &["the server ended during the load", "exit status: 0", "gone"],
    );
    let refused = |keys: &str, says: &[&str]| {
        let experiment = ExperimentFile::new("one", "[load]\nwork = \"command\"").case("one", keys);
        let path = laboratory.file("refused.toml", experiment.text());
        laboratory.run(&["run", &path]).with_code(2).says(says);
    };
    refused("command = \"echo 1\"\nready = \"true\"", &["set server ="]);
    refused(
        "command = \"echo 1\"\nserver = \"sleep 9\"",
        &["set ready to a command"],
    );
    refused(
        "command = \"echo 1\"\nbegin = \"^a\"",
        &["set both `begin` and `end`"],
    );
    refused(
        "command = \"echo 1\"\nbegin = \"(\"",
        &["`begin` in [[case]]", "a regular expression"],
    );
    laboratory.nothing_is_left();
}

/// Ctrl-C and SIGKILL while the server does not answer yet.
#[test]
fn a_server_that_is_waited_for_ends_with_numalab() {
    let laboratory = Laboratory::new();
    let seconds = seconds_of(5);
    let keys = format!(
        "server = \"sleep {seconds}0 & sleep {seconds}1\"\nready = \"false\"\ncommand = \"echo 1\""
    );
    let experiment = ExperimentFile::new("one", "[load]\nwork = \"command\"").case("one", &keys);
    let path = laboratory.file("waits.toml", experiment.text());
    for signal in [Signal::INT, Signal::KILL] {
        let under_way = laboratory.start(&["run", &path]);
        until("the server runs", || {
            (sleepers(&seconds) == 2).then_some(())
        });
        under_way.signal(signal);
        under_way.finish();
        until("the server is gone", || {
            (sleepers(&seconds) == 0).then_some(())
        });
    }
    laboratory.nothing_is_left();
}

#[test]
fn a_rate_is_the_number_by_the_seconds_between_two_lines() {
    let laboratory = Laboratory::new();
    let command = "echo loading; echo run 1; sleep 0.3; echo run over; sleep 0.3; echo 30 rows";
    let keys = format!("command = {command:?}\nbegin = \"^run 1\"\nend = \"over$\"");
    let experiment = ExperimentFile::new("one", "[load]\nwork = \"command\"").case("one", &keys);
    let path = laboratory.file("rate.toml", experiment.text());
    let run = laboratory.document(&["run", &path, "--json", "--trials", "5"]);
    // On a busy machine, a line may be read so late that its trial does not count.
    let valid = valid_trials(&run["cases"][0]);
    assert!(!valid.is_empty(), "{run:#}");
    for trial in valid {
        let (rate, window_s) = (trial["value"].as_f64(), trial["window_s"].as_f64());
        let (rate, window_s) = (rate.unwrap(), window_s.unwrap());
        assert!(window_s >= 0.1, "{trial:#}");
        assert!((rate * window_s - 30.0).abs() < 1e-6, "{trial:#}");
    }
    // Both lines by one system call.
    let print = "printf '1\\n2\\n'";
    let keys = format!("command = {print:?}\nbegin = \"1\"\nend = \"2\"");
    fails(&laboratory, &keys, &["0 ms apart", "stdbuf -oL"]);
    let keys = "command = \"echo 1\"\nbegin = \"1\"\nend = \"2\"";
    fails(
        &laboratory,
        keys,
        &["no line after the one of `begin` matches `end`"],
    );
    laboratory.nothing_is_left();
}
