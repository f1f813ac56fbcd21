//! Programs of somebody else's: their number, their placement proven, and how they can fail.

use linux::Root;
use rustix::process::Signal;

use crate::experiment_file::ExperimentFile;
use crate::laboratory::Laboratory;
use crate::patience::until;

/// What a trial of one case with these keys comes to, in words; every trial fails alike.
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
    // What is printed depends on the placement, so a program that ran elsewhere would tell.
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
        &["no number is in", "done"],
    );
    fails(&laboratory, &command("true"), &["no number is in nothing"]);
    fails(
        &laboratory,
        &command("/nonexistent/program"),
        &["ended with exit status: 127", "/nonexistent/program"],
    );
    fails(
        &laboratory,
        "command = \"echo 1 2\"\nnumber = \"json:/a\"",
        &["no JSON document"],
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
    refused("", &["names no command", "set command ="]);
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
        &["a program has no pools"],
    );
    laboratory.nothing_is_left();
}

/// A shell that waits for others, whom Ctrl-C may not leave behind.
#[test]
fn what_a_program_started_ends_with_the_run() {
    let laboratory = Laboratory::new();
    let keys = "command = \"sleep 7351 & sleep 7352; echo 1\"";
    let experiment = ExperimentFile::new("one", "[load]\nwork = \"command\"").case("one", keys);
    let path = laboratory.file("long.toml", experiment.text());
    let under_way = laboratory.start(&["run", &path]);
    let sleepers = || {
        let root = Root::live();
        let pids = linux::proc_stat::pids(&root).unwrap();
        let line = |pid: &u32| root.read_lossy(&format!("proc/{pid}/cmdline"));
        let is_one = |pid: &u32| line(pid).is_ok_and(|it| it.text().starts_with("sleep\x00735"));
        pids.iter().filter(|pid| is_one(pid)).count()
    };
    until("both programs run", || (sleepers() == 2).then_some(()));
    under_way.signal(Signal::INT);
    under_way.finish().with_code(130);
    until("both programs are gone", || (sleepers() == 0).then_some(()));
    laboratory.nothing_is_left();
}
