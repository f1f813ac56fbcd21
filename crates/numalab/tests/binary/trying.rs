//! `numalab try` on real processes of this machine, by CPU placements: what is better is found,
//! what is the same has no winner, and whatever ends it, threads have the CPUs that they had.
//!
//! Tests of switchback, placement, journal, valkey, postgresql.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rustix::process::Signal;
use testing::{Need, not_run};

use crate::laboratory::{Laboratory, UnderWay, kill};
use crate::patience::until;
use crate::postgres_server::{Server, installed};
use crate::redis_program::REDIS;
use crate::redis_targets::{Redis, password};
use crate::running::Running;

const WORKERS: &str = include_str!("workers.py");

/// Two CPUs of this machine; if there are none, reports that `test` is not run.
pub(crate) fn two_cpus(test: &str) -> Option<[String; 2]> {
    let allowed = linux::affinity::of_this_thread().unwrap();
    let cpus: Vec<String> = allowed.iter().take(2).map(|cpu| cpu.to_string()).collect();
    let cpus = cpus.try_into().ok();
    if cpus.is_none() {
        not_run(test, Need::Hardware, "it needs two CPUs");
    }
    cpus
}

/// Two processes that work, and the counter of what they have done.
pub(crate) struct Workers {
    /// The one that others start with.
    pub(crate) first: Running,
    /// Its child.
    pub(crate) second: u32,
    /// How numalab counts.
    pub(crate) metric: String,
}

impl Workers {
    /// On these CPUs.
    pub(crate) fn start(laboratory: &Laboratory, cpus: &str) -> Self {
        Self::start_with(laboratory, cpus, &[])
    }

    /// On these CPUs; they do three times as much while they may use one of `better`.
    pub(crate) fn start_with(laboratory: &Laboratory, cpus: &str, better: &[&str]) -> Self {
        let program = laboratory.file("workers.py", WORKERS);
        let counter = laboratory.folder().join("done");
        let path = counter.to_str().unwrap();
        let words = ["taskset", "-c", cpus, "/usr/bin/python3", &program, path];
        let first = Running::start(&[&words[..], better].concat());
        until("work is counted", || counter.exists().then_some(()));
        let pid = first.pid();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        Workers {
            second: children.trim().parse().unwrap(),
            metric: format!("file:{path}"),
            first,
        }
    }

    /// Starts a session on them with a window of a second.
    fn tried<'l>(&self, laboratory: &'l Laboratory, to: &str) -> UnderWay<'l> {
        let (pid, metric) = (self.first.pid(), &self.metric);
        let words = ["try", &pid, "--to", to, "--metric", metric];
        let short = ["--window", "1", "--for", "600", "--by", "rate"];
        laboratory.start(&[&words[..], &short].concat())
    }

    /// The CPUs of both.
    fn cpus(&self) -> [String; 2] {
        [self.first.0.id(), self.second].map(|pid| cpus_of_thread(pid, pid))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        kill(self.second);
    }
}

fn cpus_of_thread(pid: u32, tid: u32) -> String {
    let path = format!("/proc/{pid}/task/{tid}/status");
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap_or_default().trim().to_owned()
}

/// The CPUs of every thread of a process.
fn cpus_of_all(pid: u32) -> Vec<String> {
    // A process that has ended has none.
    let tasks = fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task"));
    let names = tasks
        .into_iter()
        .flatten()
        .map(|task| task.unwrap().file_name().into_string().unwrap());
    let tids = names.map(|name| name.parse().unwrap());
    tids.map(|tid| cpus_of_thread(pid, tid)).collect()
}

/// Waits until the session has put its target under the placement.
fn until_placed(session: &mut UnderWay<'_>, to: &str) {
    let said = format!("to {to}: threads on CPUs");
    until("the placement is in force", || {
        assert!(!session.has_ended(), "{}", session.stderr());
        session.stderr().contains(&said).then_some(())
    });
}

#[test]
fn the_current_placement_against_itself_has_no_winner_and_changes_nothing() {
    let laboratory = Laboratory::new();
    let cpus = linux::affinity::of_this_thread().unwrap().to_string();
    let workers = Workers::start(&laboratory, &cpus);
    let (pid, metric) = (workers.first.pid(), &workers.metric);
    // Too few pairs for an interval, whatever the machine does meanwhile.
    let words = ["try", &pid, "--to", "current", "--metric", metric, "--json"];
    let short = ["--window", "1", "--for", "28", "--by", "rate"];
    let tried = laboratory.document(&[&words[..], &short].concat());
    assert_eq!(
        (&tried["end"], &tried["is_kept"]),
        (&"time-over".into(), &().into())
    );
    let placement = &tried["placements"][0];
    assert_eq!(placement["verdict"], "undecided", "{tried}");
    let pairs = placement["log_ratios"].as_array().unwrap().len();
    assert!((1..7).contains(&pairs), "{tried}");
    let windows = tried["windows"].as_array().unwrap();
    assert!(windows.iter().all(|it| it["void"].is_null()), "{tried}");
    // On a busy machine, it may have got no CPU in one of them.
    let have_work = windows.iter().filter(|it| it["work"].as_u64() > Some(0));
    assert!(2 * have_work.count() > windows.len(), "{tried}");
    assert_eq!(workers.cpus(), [cpus.clone(), cpus]);
    let run = tried["run"].as_str().unwrap();
    assert_eq!(laboratory.document(&["show", run, "--json"]), tried);
    let listed = laboratory.document(&["history", "--json"]);
    let listed = &listed["runs"][0];
    assert_eq!(
        (&listed["id"], &listed["status"]),
        (&run.into(), &"bounded".into())
    );
    assert_eq!(listed["experiment"], format!("try {pid}"));
    assert_eq!(listed["cases"], 2);
    let shown = laboratory
        .run(&["show", "last", "--full"])
        .with_code(0)
        .stdout;
    assert!(
        shown.contains("watching ") && shown.contains("current: "),
        "{shown}"
    );
    laboratory.nothing_is_left();
}

#[test]
fn a_better_cpu_is_found_and_kept_until_undo() {
    const TEST: &str = "a_better_cpu_is_found_and_kept_until_undo";
    let Some([one, other]) = two_cpus(TEST) else {
        return;
    };
    let laboratory = Laboratory::new();
    let workers = Workers::start_with(&laboratory, &one, &[&other]);
    let (pid, metric) = (workers.first.pid(), &workers.metric);
    let to = format!("cpus:{other}");
    let words = ["try", &pid, "--to", &to, "--metric", metric, "--json"];
    let short = ["--window", "1", "--for", "600", "--by", "rate", "--keep"];
    let tried = laboratory.document(&[&words[..], &short].concat());
    let placement = &tried["placements"][0];
    let found = (&tried["end"], &tried["judged_by"], &placement["verdict"]);
    assert_eq!(
        found,
        (&"decided".into(), &"rate".into(), &"better".into()),
        "{tried}"
    );
    assert!(placement["ratio_low"].as_f64() > Some(1.0), "{tried}");
    assert_eq!(tried["is_kept"], to);
    assert_eq!(workers.cpus(), [other.clone(), other.clone()]);
    let listed = laboratory.run(&["undo", "--list"]).with_code(0).stdout;
    assert!(
        listed.contains(&format!("bound to CPUs {other}")),
        "{listed}"
    );
    laboratory.run(&["undo"]).with_code(0);
    assert_eq!(workers.cpus(), [one.clone(), one]);
    laboratory.nothing_is_left();
}

#[test]
fn undo_gives_a_redis_its_cpus_back_after_a_kill() {
    const TEST: &str = "undo_gives_a_redis_its_cpus_back_after_a_kill";
    let Some([one, _]) = two_cpus(TEST) else {
        return;
    };
    let Some(redis) = Redis::start_kind(REDIS, TEST, &[]) else {
        return;
    };
    let mut laboratory = Laboratory::new();
    laboratory.launch_behind(&["env", &password()]);
    let pid = redis.server.0.id();
    let before = cpus_of_all(pid);
    assert!(before.len() > 1, "{before:?}");
    let (target, to) = (redis.target(), format!("cpus:{one}"));
    // Nobody works with it but numalab, which counts: by commands per second.
    let words = ["try", &target, "--to", &to, "--window", "1", "--by", "rate"];
    // A window under the placement may end before the kill.
    until("it is killed under the placement", || {
        let mut session = laboratory.start(&words);
        until_placed(&mut session, &to);
        session.kill();
        session.finish();
        let is_placed = cpus_of_all(pid).iter().all(|cpus| *cpus == one);
        if !is_placed {
            laboratory.run(&["undo"]).with_code(0);
            assert_eq!(cpus_of_all(pid), before);
        }
        is_placed.then_some(())
    });
    let listed = laboratory.run(&["undo", "--list"]).with_code(0).stdout;
    let bound = format!("threads of {target} bound to CPUs {one}");
    assert!(listed.contains(&bound), "{listed}");
    laboratory.run(&["undo"]).with_code(0);
    assert_eq!(cpus_of_all(pid), before);
    laboratory.nothing_is_left();
}

#[test]
fn a_session_of_postgres_that_starts_meanwhile_gets_back_what_the_server_had() {
    const TEST: &str = "a_session_of_postgres_that_starts_meanwhile_gets_back_what_the_server_had";
    let Some([one, _]) = two_cpus(TEST) else {
        return;
    };
    let Some(bin) = installed(TEST) else {
        return;
    };
    let server = Server::start(&bin);
    let laboratory = Laboratory::new();
    let cpus = || -> BTreeSet<String> {
        let pids = server.pids().into_iter().map(|pid| pid.parse().unwrap());
        pids.flat_map(cpus_of_all).collect()
    };
    let (before, processes) = (cpus(), server.pids().len());
    let (target, to) = (server.target(), format!("cpus:{one}"));
    // Nobody works with it but numalab, which counts: by transactions per second.
    let words = ["try", &target, "--to", &to, "--pg-role", "postgres"];
    let short = ["--window", "1", "--by", "rate"];
    let mut session = laboratory.start(&[&words[..], &short].concat());
    until_placed(&mut session, &to);
    let mut sleeps = server.command("psql", &["-XAtc", "SELECT pg_sleep(1000)"]);
    let _sleeps = Running::of(&mut sleeps);
    // The counters of numalab are a session, too.
    until("there is another session", || {
        (server.pids().len() >= processes + 2).then_some(())
    });
    assert!(
        session
            .stderr()
            .contains("judged by transactions per second")
    );
    session.kill();
    session.finish();
    laboratory.run(&["undo"]).with_code(0);
    assert_eq!(cpus(), before);
    laboratory.nothing_is_left();
}

#[test]
fn whatever_ends_a_session_gives_threads_their_cpus_back() {
    const TEST: &str = "whatever_ends_a_session_gives_threads_their_cpus_back";
    let Some([one, other]) = two_cpus(TEST) else {
        return;
    };
    let laboratory = Laboratory::new();
    let workers = Workers::start(&laboratory, &other);
    let to = format!("cpus:{one}");
    let mut session = workers.tried(&laboratory, &to);
    until_placed(&mut session, &to);
    // Nobody else tries the same target meanwhile.
    let second = workers.tried(&laboratory, &to).finish().with_code(4);
    second.says(&["has locked /proc/"]);
    session.signal(Signal::INT);
    session
        .finish()
        .with_code(130)
        .says(&["everything is as before"]);
    assert_eq!(workers.cpus(), [other.clone(), other.clone()]);
    laboratory.nothing_is_left();
    let mut session = workers.tried(&laboratory, &to);
    until_placed(&mut session, &to);
    kill(workers.second);
    kill(workers.first.0.id());
    session
        .finish()
        .with_code(8)
        .says(&["has ended, or was started again"]);
    laboratory.nothing_is_left();
}

#[test]
fn cpus_that_another_process_has_set_since_stay() {
    const TEST: &str = "cpus_that_another_process_has_set_since_stay";
    let Some([one, other]) = two_cpus(TEST) else {
        return;
    };
    let laboratory = Laboratory::new();
    let both = format!("{one},{other}");
    let workers = Workers::start(&laboratory, &both);
    let before = workers.cpus();
    let to = format!("cpus:{one}");
    let mut session = workers.tried(&laboratory, &to);
    // A window of it may end at any moment: what is set then is noticed, too.
    until_placed(&mut session, &to);
    let pid = workers.first.pid();
    let set = std::process::Command::new("taskset")
        .args(["-cp", &other, &pid])
        .output();
    assert!(set.unwrap().status.success());
    session.finish().with_code(6).says(&["another process has"]);
    let [first, second] = workers.cpus();
    assert_eq!(first, other);
    laboratory.run(&["undo", "--force"]).with_code(0);
    assert_eq!(second, before[1]);
    laboratory.nothing_is_left();
}

#[test]
fn what_cannot_be_tried_is_refused_by_name() {
    let laboratory = Laboratory::new();
    let idle = Running::start(&["sleep", "1000"]);
    let pid = idle.pid();
    let counter = laboratory.file("counter", "7\n");
    let file = format!("file:{counter}");
    for (words, code, said) in [
        (vec!["--to", "cpus:8000"], 2, "there is no CPU 8000 online"),
        (
            vec!["--to", "nodes:4000"],
            2,
            "there are no CPUs on node 4000",
        ),
        (vec!["--to", "sideways"], 2, "\"sideways\" is no placement"),
        (
            vec!["--to", "current"],
            2,
            "not one database whose counters",
        ),
        (
            vec!["--to", "current", "--gain", "0"],
            2,
            "expected a percentage",
        ),
        (
            vec!["--to", "current", "--window", "0.5"],
            2,
            "at least 1 s",
        ),
        (
            vec!["--to", "current", "--metric", "x"],
            2,
            "expected auto, command:",
        ),
        (
            vec!["--to", "current", "--metric", "command:false"],
            8,
            "it ended with exit status: 1",
        ),
        (
            vec![
                "--to", "current", "--metric", &file, "--window", "1", "--by", "rate",
            ],
            8,
            "did not grow within 12 s",
        ),
    ] {
        let words = [vec!["try", &pid], words].concat();
        let finished = laboratory.run(&words).with_code(code);
        assert!(
            finished.stderr.contains(said),
            "{words:?}: {}",
            finished.stderr
        );
    }
    let words = ["try", &pid, "--to", "current", "--dry-run"];
    let planned = laboratory.run(&words).with_code(0).stdout;
    assert!(planned.contains("nothing was changed"), "{planned}");
    laboratory.nothing_is_left();
}
