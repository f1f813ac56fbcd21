//! `numalab record` on real processes of this machine, and `numalab compare` of what it stored.
//!
//! Tests of switchback, store, report, stats, postgresql, serve.

use std::path::Path;

use model::RunHeader;
use rustix::process::Signal;
use serde_json::Value;
use store::Store;

use crate::laboratory::{Laboratory, UnderWay, kill};
use crate::patience::until;
use crate::postgres_server::{Server, installed};
use crate::running::Running;
use crate::served::{Served, has_curl};
use crate::trying::{Workers, two_cpus};

/// The newest run of a store.
fn newest(store: &Path) -> Option<RunHeader> {
    let store = Store::open_existing(store).ok()?;
    store.history(1).ok()?.into_iter().next()
}

/// Starts a record, and waits until windows of it are in the store.
fn start_and_wait<'l>(laboratory: &'l Laboratory, workers: &Workers, label: &str) -> UnderWay<'l> {
    let mut record = start(laboratory, workers, label);
    until("windows are stored", || {
        assert!(!record.has_ended(), "{}", record.stderr());
        let run = newest(&laboratory.store())?;
        (run.label.as_deref() == Some(label) && run.trials_valid >= 2).then_some(())
    });
    record
}

fn start<'l>(laboratory: &'l Laboratory, workers: &Workers, label: &str) -> UnderWay<'l> {
    let (pid, metric) = (workers.first.pid(), &workers.metric);
    let words = ["record", &pid, "--metric", metric, "--label", label];
    laboratory.start(&[&words[..], &["--for", "100"]].concat())
}

fn shown(laboratory: &Laboratory, run: &str) -> Value {
    laboratory.document(&["show", run, "--json"])
}

#[test]
fn records_before_and_after_a_change_are_compared_with_what_else_changed() {
    const TEST: &str = "records_before_and_after_a_change_are_compared_with_what_else_changed";
    let Some([one, other]) = two_cpus(TEST) else {
        return;
    };
    let laboratory = Laboratory::new();
    let workers = Workers::start_with(&laboratory, &one, &[&other]);
    let (pid, metric) = (workers.first.pid(), &workers.metric);
    let record = |label: &str, more: &[&str]| {
        let words = ["record", &pid, "--metric", metric, "--label", label];
        let short = ["--for", "21", "--json"];
        laboratory.document(&[&words[..], &short, more].concat())
    };
    let before = record("before", &[]);
    assert_eq!(
        (&before["end"], &before["unit"]),
        (&"time-over".into(), &"unit".into())
    );
    let windows = before["windows"].as_array().unwrap();
    assert_eq!(windows.len(), 21);
    // On a busy machine, it may have got no CPU in one of them.
    let have_work = windows.iter().filter(|it| it["work"].as_u64() > Some(0));
    assert!(have_work.count() > 10, "{before}");
    assert_eq!(before["begin"]["cpus"], one);
    assert_eq!(shown(&laboratory, before["run"].as_str().unwrap()), before);
    for process in [&pid, &workers.second.to_string()] {
        let words = ["-cp", &other, process];
        let set = std::process::Command::new("taskset").args(words).output();
        assert!(set.unwrap().status.success());
    }
    record("after", &[]);
    let found = laboratory.document(&["compare", "before", "after", "--json"]);
    // Three times the work in the same time, whatever the machine does meanwhile.
    let rate = &found["rate"];
    let ratio = rate["ratio"].as_f64().unwrap();
    assert!((2.5..3.5).contains(&ratio), "{found}");
    match rate["no_interval"].as_str() {
        None => assert!(rate["ratio_low"].as_f64() > Some(1.0), "{found}"),
        Some(why) => assert!(
            why.contains("too slow") || why.contains("emulated"),
            "{found}"
        ),
    }
    let changed = found["changed"].to_string();
    assert!(
        changed.contains(&format!("CPUs allowed {one} → {other}")),
        "{found}"
    );
    let text = laboratory
        .run(&["compare", "before", "after"])
        .with_code(0)
        .stdout;
    assert!(text.contains("Not randomised"), "{text}");
    let below = ["compare", "after", "before", "--fail-below", "0.9"];
    laboratory.run(&below).with_code(7);
    // A label that exists is refused, and one more record of it is one more value.
    let words = ["record", &pid, "--metric", metric, "--label", "after"];
    let refused = laboratory.run(&words).with_code(2);
    refused.says(&["there is a record with the label after already", "--add"]);
    record("after", &["--add"]);
    let found = laboratory.document(&["compare", "before", "after", "--json"]);
    assert_eq!(found["runs"][1].as_array().unwrap().len(), 2, "{found}");
    laboratory.nothing_is_left();
}

#[test]
fn whatever_ends_a_record_leaves_its_windows() {
    const TEST: &str = "whatever_ends_a_record_leaves_its_windows";
    let Some([one, other]) = two_cpus(TEST) else {
        return;
    };
    let laboratory = Laboratory::new();
    let workers = Workers::start(&laboratory, &other);
    let check = |record: UnderWay<'_>, code: Option<i32>, end: &str| {
        let run = newest(&laboratory.store()).unwrap();
        let finished = record.finish();
        if let Some(code) = code {
            finished.with_code(code);
        }
        let document = shown(&laboratory, &run.id);
        assert_eq!(document["end"], end, "{document}");
        assert!(
            document["windows"].as_array().unwrap().len() >= 2,
            "{document}"
        );
        laboratory.run(&["show", &run.id]).with_code(0);
    };
    let record = start_and_wait(&laboratory, &workers, "interrupted");
    // Nobody else records, or tries, the same target meanwhile.
    let second = start(&laboratory, &workers, "second").finish().with_code(4);
    second.says(&["has locked /proc/"]);
    record.signal(Signal::INT);
    check(record, Some(130), "interrupted");
    let record = start_and_wait(&laboratory, &workers, "killed");
    record.kill();
    check(record, None, "unfinished");
    let record = start_and_wait(&laboratory, &workers, "changed");
    let words = ["-cp", &one, &workers.first.pid()];
    let set = std::process::Command::new("taskset").args(words).output();
    assert!(set.unwrap().status.success());
    check(record, Some(6), "changed");
    let record = start_and_wait(&laboratory, &workers, "ended");
    kill(workers.second);
    kill(workers.first.0.id());
    check(record, Some(8), "target-ended");
    let listed = laboratory.run(&["history"]).with_code(0).stdout;
    assert!(listed.contains("killed: record"), "{listed}");
    laboratory.nothing_is_left();
}

#[test]
fn a_record_of_postgres_has_its_transactions_mix_and_settings() {
    const TEST: &str = "a_record_of_postgres_has_its_transactions_mix_and_settings";
    let Some(bin) = installed(TEST) else {
        return;
    };
    let server = Server::start(&bin);
    let laboratory = Laboratory::new();
    // Nobody works with it but numalab, which counts.
    let words = ["record", &server.target(), "--pg-role", "postgres"];
    let found = laboratory.document(&[&words[..], &["--for", "12", "--json"]].concat());
    assert_eq!(
        (&found["unit"], &found["mix_unit"]),
        (&"transaction".into(), &"logical reads".into())
    );
    let windows = found["windows"].as_array().unwrap();
    let sum = |key: &str| {
        windows
            .iter()
            .filter_map(|it| it[key].as_f64())
            .sum::<f64>()
    };
    assert!(
        sum("work") > 0.0 && sum("cpu_s") > 0.0 && sum("machine_busy_s") > 0.0,
        "{found}"
    );
    let settings = &found["server_settings"];
    assert_eq!(settings["huge_pages"], "off", "{found}");
    assert!(settings["shared_buffers"].is_string() && settings["server_version"].is_string());
    assert!(settings["primary_conninfo"].is_null(), "{found}");
    assert!(
        found["kernel_settings"]["numa_balancing"].is_string(),
        "{found}"
    );
    assert!(found["begin"]["processes"].as_u64() > Some(1), "{found}");
    assert!(
        !found["begin"]["bytes_by_node"]
            .as_object()
            .unwrap()
            .is_empty(),
        "{found}"
    );
    laboratory.nothing_is_left();
}

#[test]
fn records_are_served() {
    if !has_curl("records_are_served") {
        return;
    }
    let laboratory = Laboratory::new();
    let workers = Workers::start(&laboratory, "0-1023");
    let (pid, metric) = (workers.first.pid(), &workers.metric);
    let words = ["record", &pid, "--metric", metric, "--for", "2", "--json"];
    let runs = [(); 2].map(|()| laboratory.document(&words));
    let [one, other] = [0, 1].map(|number| runs[number]["run"].as_str().unwrap());
    let server = Served::start(&laboratory);
    let get = |path: &str| server.get(path).with_status(200);
    assert!(get("/runs").body.contains(&format!("record {pid}")));
    assert!(get(&format!("/runs/{one}")).body.contains("Record of "));
    assert_eq!(get(&format!("/api/runs/{one}")).document(), runs[0]);
    let both = format!("compare?a={one}&b={other}");
    assert!(get(&format!("/{both}")).body.contains("Not randomised"));
    let compared = laboratory.document(&["compare", one, other, "--json"]);
    assert_eq!(get(&format!("/api/{both}")).document(), compared);
}

#[test]
fn what_cannot_be_recorded_or_compared_is_refused_by_name() {
    let laboratory = Laboratory::new();
    let idle = Running::start(&["sleep", "1000"]);
    let pid = idle.pid();
    let still = format!("file:{}", laboratory.file("counter", "7\n"));
    for (words, code, said) in [
        (vec!["--label", "2026"], 2, "expected a letter"),
        (vec!["--label", "last"], 2, "not \"last\""),
        (vec!["--add"], 2, "--label"),
        (vec![], 2, "not one database whose counters"),
        (vec!["--for", "0"], 2, "--for"),
        (
            vec!["--metric", &still, "--for", "2", "--label", "still"],
            8,
            "the counter of units stood still",
        ),
    ] {
        let words = [vec!["record", &pid], words].concat();
        let refused = laboratory.run(&words).with_code(code);
        assert!(!refused.stdout.contains("record for longer"), "{refused:?}");
        refused.says(&[said]);
    }
    let missing = laboratory.run(&["compare", "still", "other"]).with_code(2);
    missing.says(&["no record with the label still has a window that counts"]);
    // Work that others do while the target sleeps has no cost, and a label without any is free.
    let workers = Workers::start(&laboratory, "0-1023");
    let metric = &workers.metric;
    let words = [
        "record", &pid, "--metric", metric, "--for", "2", "--label", "still",
    ];
    let slept = laboratory.run(&words).with_code(0);
    let words: Vec<&str> = slept.stdout.split_whitespace().collect();
    let said = words.join(" ");
    for expected in ["the target used no CPU time", "an interval needs 20"] {
        assert!(said.contains(expected), "{said}");
    }
    let found = laboratory.document(&["compare", "still", "still", "--json"]);
    assert!(found["cost"]["ratio"].is_null(), "{found}");
    assert_eq!(found["rate"]["ratio"], 1.0, "{found}");
    let run = newest(&laboratory.store()).unwrap().id;
    let explained = laboratory.run(&["explain", &run]).with_code(2);
    explained.says(&["is a run of live windows (record", "numalab show"]);
    laboratory.nothing_is_left();
}
