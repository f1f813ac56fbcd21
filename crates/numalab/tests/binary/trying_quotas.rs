//! `numalab try` with a quota: it is that of the target's own control group while it is measured,
//! and what it was after whatever ended the session.
//!
//! Tests of switchback, placement, journal.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::Value;

use crate::groups::name;
use crate::laboratory::{Laboratory, UnderWay};
use crate::patience::until;
use crate::trying::Workers;
use crate::unmet_need::{has_groups, is_root};

/// The quota of a group, as its file says.
fn quota(group: &Value) -> String {
    let directories = group["groups"][0]["directories"].as_array().unwrap();
    let mut files = directories.iter().flat_map(|directory| {
        let directory = PathBuf::from(directory.as_str().unwrap());
        ["cpu.max", "cpu.cfs_quota_us"].map(|name| directory.join(name))
    });
    let text = files
        .find_map(|file| fs::read_to_string(file).ok())
        .unwrap();
    text.split_whitespace().next().unwrap().to_owned()
}

/// Waits until the quota is in force.
fn until_limited(session: &mut UnderWay<'_>, group: &Value, expected: &str) {
    until("the quota is in force", || {
        assert!(!session.has_ended(), "{}", session.stderr());
        (quota(group) == expected).then_some(())
    });
}

#[test]
fn a_quota_is_tried_and_taken_back_whatever_ends_it() {
    const TEST: &str = "a_quota_is_tried_and_taken_back_whatever_ends_it";
    if !has_groups(TEST) || !is_root(TEST) {
        return;
    }
    let laboratory = Laboratory::new();
    let cpus = linux::affinity::of_this_thread().unwrap().to_string();
    let workers = Workers::start(&laboratory, &cpus);
    let (pid, metric) = (workers.first.pid(), &workers.metric);
    let words = |for_s: &'static str| {
        let words = ["try", &pid, "--to", "quota:0.01", "--metric", metric];
        let short = ["--window", "1", "--stop-loss", "90%", "--for", for_s];
        [words, short]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let start =
        |for_s| laboratory.start(&words(for_s).iter().map(String::as_str).collect::<Vec<_>>());
    start("60")
        .finish()
        .with_code(3)
        .says(&["a control group that has the target alone"]);
    let name = name("quota");
    let group = laboratory.document(&["group", "create", &name, "--cpu-limit", "1.5", "--json"]);
    let second = workers.second.to_string();
    laboratory
        .run(&["group", "add", &name, &pid, &second])
        .with_code(0);
    assert_eq!(quota(&group), "150000");

    let mut session = start("600");
    until_limited(&mut session, &group, "1000");
    session.signal(Signal::INT);
    let said = session.finish().with_code(130);
    said.says(&[
        "judged by units per second: a quota limits work",
        "everything is as before",
    ]);
    assert_eq!(quota(&group), "150000");

    until("it is killed under the quota", || {
        let mut session = start("600");
        until_limited(&mut session, &group, "1000");
        session.kill();
        session.finish();
        let is_limited = quota(&group) == "1000";
        let listed = laboratory.run(&["undo", "--list"]).with_code(0).stdout;
        let all: Vec<&str> = listed.lines().filter(|it| it.contains("1000")).collect();
        assert_eq!(!all.is_empty(), is_limited, "{listed}");
        for entry in all {
            let number = entry.split(':').next().unwrap().trim();
            laboratory.run(&["undo", number]).with_code(0);
        }
        assert_eq!(quota(&group), "150000");
        is_limited.then_some(())
    });

    // What another process writes meanwhile stays, and ends it.
    let mut session = start("600");
    until_limited(&mut session, &group, "1000");
    laboratory
        .run(&["group", "set", &name, "--cpu-limit", "1"])
        .with_code(0);
    session.finish().with_code(6).says(&["another process has"]);
    assert_eq!(quota(&group), "100000");
    drop(workers);
    laboratory.run(&["undo", "--force"]).with_code(0);
    laboratory.nothing_is_left();
}
