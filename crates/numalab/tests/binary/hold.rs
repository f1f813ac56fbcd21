//! `numalab run … --hold CASE`: an instance stays up until it is asked to end.
//!
//! Tests of experiment, instance.

use rustix::process::Signal;
use serde_json::Value;

use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::{Laboratory, kill};
use crate::patience::until;
use crate::processes::Role;

fn experiment(laboratory: &Laboratory) -> String {
    let experiment = ExperimentFile::new("one", SMALL)
        .case("one", "cpus = \"all:1\"")
        .case("other", "backing = \"shm\"");
    laboratory.file("held.toml", experiment.text())
}

#[test]
fn a_held_instance_can_be_inspected_and_ends_with_control_c() {
    for idle in [true, false] {
        let laboratory = Laboratory::new();
        let path = experiment(&laboratory);
        let mut words = vec!["run", &path, "--hold", "other", "--json"];
        words.extend(idle.then_some("--idle"));
        let mut held = laboratory.start(&words);
        let document: Value = until("the document", || {
            assert!(!held.has_ended(), "it ended early: {}", held.stderr());
            serde_json::from_str(&held.stdout()).ok()
        });
        assert_eq!(document["format"], "numalab.hold/1");
        assert_eq!(document["case"], "other");
        let doing = if idle { "idle" } else { "running" };
        assert_eq!(document["sessions"], doing);
        let sessions: Vec<u64> = laboratory
            .pids(Role::Session)
            .into_iter()
            .map(u64::from)
            .collect();
        assert_eq!(document["session_pids"], serde_json::json!(sessions));
        assert_eq!(document["instance_pid"], laboratory.pids(Role::Instance)[0]);
        let pid = document["instance_pid"].to_string();
        let residency = laboratory.document(&["inspect", &pid, "--json"]);
        let segments = residency["segments"].as_array().unwrap();
        assert!(
            segments.iter().any(|segment| segment["kind"] == "dev-shm"),
            "{residency:#}"
        );
        held.signal_group(Signal::INT);
        held.finish().with_code(0);
        laboratory.nothing_is_left();
    }
}

#[test]
fn it_ends_by_itself_after_the_seconds_asked_for() {
    let laboratory = Laboratory::new();
    let path = experiment(&laboratory);
    let held = laboratory.run(&["run", &path, "--hold", "one", "--seconds", "0.3"]);
    let held = held.with_code(0);
    assert!(
        held.stdout.contains("look at it: numalab inspect"),
        "{}",
        held.stdout
    );
    laboratory.nothing_is_left();
}

#[test]
fn a_session_that_dies_ends_it_with_its_reason() {
    let laboratory = Laboratory::new();
    let path = experiment(&laboratory);
    let mut held = laboratory.start(&["run", &path, "--hold", "one"]);
    until("the processes are named", || {
        assert!(!held.has_ended(), "it ended early: {}", held.stderr());
        held.stdout().contains("sessions:").then_some(())
    });
    kill(held.until_there_are(2, Role::Session)[1]);
    let finished = held.finish().with_code(8);
    finished.says(&["cannot hold case \"one\"", "session 1", "signal: 9"]);
    laboratory.nothing_is_left();
}

#[test]
fn a_case_that_is_not_there_is_refused_with_those_that_are() {
    let laboratory = Laboratory::new();
    let path = experiment(&laboratory);
    let refused = laboratory
        .run(&["run", &path, "--hold", "two"])
        .with_code(2);
    refused.says(&["has no case \"two\"", "one, other"]);
}
