//! Two runs at once do not interfere with each other's files and groups, and each detects the
//! other.
//!
//! Tests of journal, placement, experiment.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;

use crate::busy::Busy;
use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::processes::Role;
use crate::unmet_need::{has_groups, is_root};
use crate::user::{NOBODY, User};

/// Starts a program that sees neither the processes of other tests nor the names that they claim,
/// and takes all its own with it when it is killed.
const ALONE: [&str; 6] = [
    "unshare",
    "--net",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
];

#[test]
fn two_runs_at_once_keep_apart() {
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("one", SMALL)
        .case("one", "cpus = \"all:1\"")
        .case("other", "backing = \"sysv\"");
    let path = laboratory.file("two.toml", experiment.text());
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.2"];
    let mut first = laboratory.start(&words);
    // Ids are times: make sure that the second run does not start in the same millisecond.
    first.until_there_are(1, Role::Instance);
    let second = laboratory.start(&words);
    let runs = [first, second].map(|run| run.finish().with_code(0).document());
    let mut groups = BTreeSet::new();
    for run in &runs {
        let id = run["run"].as_str().unwrap();
        assert_eq!(laboratory.document(&["show", id, "--json"]), *run);
        for case in run["cases"].as_array().unwrap() {
            assert_eq!(case["trials_valid"], 5, "{case:#}");
        }
        let group = &run["cases"][0]["trials"][0]["evidence"]["group"]["path"];
        groups.insert(group.to_string());
    }
    let ids = runs.each_ref().map(|run| &run["run"]);
    assert_ne!(ids[0], ids[1]);
    if has_groups("two_runs_at_once_keep_apart") {
        assert!(groups.len() == 2 && !groups.contains("null"), "{groups:?}");
    }
    laboratory.nothing_is_left();
}

/// Two users with two stores. Claimed names belong to a network namespace; a new one hides the
/// other tests on this machine.
#[test]
fn a_run_beside_another_is_refused_and_names_it() {
    const NAME: &str = "a_run_beside_another_is_refused_and_names_it";
    if !is_root(NAME) {
        return;
    }
    let mut first = Laboratory::new();
    first.launch_behind(&["unshare", "--net"]);
    let words = ["--trials", "1000", "--seconds", "0.4"];
    let long = ExperimentFile::new("one", SMALL).case("one", "");
    let path = first.file("long.toml", long.text());
    let mut running = first.start(&[&["run", &path][..], &words[..]].concat());
    running.until_there_are(1, Role::Instance);
    let pid = running.pid();

    let beside = |user: Option<User>| {
        let mut laboratory = user.map_or_else(Laboratory::new, Laboratory::of);
        laboratory.mind_others();
        laboratory.launch_all_behind(&["nsenter", &format!("--net=/proc/{pid}/ns/net")]);
        laboratory
    };
    let named = format!("(process {pid}) is measuring on this machine");
    let users = [
        (None, &["run", "spin"][..]),
        (Some(NOBODY), &["run", "spin"]),
        (Some(NOBODY), &["latency"]),
    ];
    for (user, words) in users {
        let second = beside(user);
        let refused = second.run(words).with_code(5);
        refused.says(&["`numalab run ", "/long.toml` ", &named, "--anyway"]);
        assert_eq!(refused.stdout, "");
        // Nothing was measured, so nothing is stored.
        let history = second.document(&["history", "--json"]);
        assert_eq!(history["runs"].as_array().unwrap().len(), 0);
        second.nothing_is_left();
    }
    let second = beside(None);
    let load = format!("{SMALL}\nwork-unit = 16");
    let short = ExperimentFile::new("one", &load).case("one", "");
    let path = second.file("short.toml", short.text());
    let words = [
        "run",
        &path,
        "--anyway",
        "--json",
        "--seconds",
        "0.2",
        "--within",
        "1",
    ];
    let ended = second.run_until_a_trial_counts(&words).with_code(0);
    ended.says(&["warning: ", &named]);
    let warnings = &ended.document()["cases"][0]["trials"][0]["warnings"];
    assert!(warnings.to_string().contains(&named), "{warnings}");
    running.signal_group(Signal::INT);
    running.finish().with_code(130);
}

#[test]
fn a_busy_machine_is_not_measured_unless_it_is_asked_for() {
    let mut laboratory = Laboratory::new();
    laboratory.mind_others();
    let _busy = Busy::everywhere();
    let load = format!("{SMALL}\nwork-unit = 16");
    let experiment = ExperimentFile::new("one", &load).case("one", "");
    let path = laboratory.file("busy.toml", experiment.text());
    let words = ["run", &path, "--seconds", "0.2", "--within", "1"];
    let refused = laboratory.run(&words).with_code(5);
    refused.says(&["not fit to measure now", "are runnable", "--anyway"]);
    assert_eq!(refused.stdout, "");
    laboratory
        .run_until_a_trial_counts(&[&words[..], &["--anyway"]].concat())
        .with_code(0);
    laboratory.nothing_is_left();
}

/// Cases that take turns have in common what others do: there is an answer beside a load.
#[test]
fn beside_other_work_cases_take_turns() {
    if !is_root("beside_other_work_cases_take_turns") {
        return;
    }
    let mut laboratory = Laboratory::new();
    laboratory.mind_others();
    laboratory.launch_behind(&ALONE);
    let _busy = Busy::everywhere();
    let path = laboratory.file("beside.toml", two_cases());
    let words = ["run", &path, "--trials", "5", "--seconds", "0.5"];
    let shown = laboratory.run(&words).with_code(0).stdout;
    let told = shown.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(told.contains("measured beside other work"), "{shown}");
    let trials = laboratory.newest_run()["cases"][1]["trials_valid"].clone();
    assert_eq!(trials, 5, "{shown}");
    // One after another, they do not have it in common.
    let words = [&words[..], &["--one-after-another"]].concat();
    let refused = laboratory.run(&words).with_code(5);
    refused.says(&["not fit to measure now", "are runnable"]);
    laboratory.nothing_is_left();
}

/// A program that is named like a database keeps a CPU busy, among the processes that numalab sees.
#[test]
fn beside_a_database_that_is_at_work_a_run_has_the_lowest_weight() {
    if !is_root("beside_a_database_that_is_at_work_a_run_has_the_lowest_weight") {
        return;
    }
    let mut laboratory = Laboratory::new();
    laboratory.mind_others();
    let database = laboratory.file("redis-server", "#!/bin/sh\nwhile :; do :; done\n");
    std::fs::set_permissions(&database, Permissions::from_mode(0o755)).unwrap();
    laboratory.launch_behind(&ALONE);
    // It has used some CPU time (field 14 of its stat) before numalab looks.
    let script =
        "\"$0\" & until [ $(cut -d' ' -f14 /proc/$!/stat) -gt 5 ]; do :; done; exec \"$@\"";
    laboratory.launch_behind(&["sh", "-c", script, &database]);
    let _busy = Busy::everywhere();
    let path = laboratory.file("beside.toml", two_cases());
    let mut run = laboratory.start(&["run", &path]);
    until("it says that it gives way", || {
        assert!(!run.has_ended(), "it ended early: {}", run.stderr());
        run.stderr()
            .contains("at the lowest weight (nice 19)")
            .then_some(())
    });
    // Field 19 of proc_pid_stat(5), the seventeenth after the name; the launcher has its own.
    let nice = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map_or("", |it| it.1).to_owned();
        fields.split_whitespace().nth(16).map(str::to_owned)
    };
    let coordinators = laboratory.pids(Role::Coordinator);
    let nice: Vec<_> = coordinators.iter().filter_map(nice).collect();
    assert!(nice.contains(&"19".to_owned()), "{nice:?}");
    run.kill();
    run.finish();
    laboratory.no_process_is_left();
}

fn two_cases() -> String {
    let experiment = ExperimentFile::new("one", &format!("{SMALL}\nwork-unit = 16"))
        .case("one", "")
        .case("other", "cpus = \"all:1\"");
    experiment.text().to_owned()
}
