//! `kill -9` of the coordinator: its processes end by themselves, what was stored stays, and
//! `numalab undo` undoes the rest.
//!
//! Tests of journal, experiment, instance.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::{Laboratory, UnderWay};
use crate::patience::until;
use crate::processes::Role;
use crate::unmet_need::has_groups;

/// Two cases in processor groups, one on each kind of shared memory.
fn experiment_with_groups(laboratory: &Laboratory) -> String {
    let experiment = ExperimentFile::new("one", SMALL)
        .case("one", "cpus = \"all:1\"\nmechanism = \"group\"")
        .case(
            "other",
            "cpus = \"all\"\nmechanism = \"group\"\nbacking = \"sysv\"",
        );
    laboratory.file("groups.toml", experiment.text())
}

fn words(path: &str) -> [&str; 6] {
    ["run", path, "--trials", "100", "--seconds", "0.3"]
}

fn trials_of(run: &Value) -> usize {
    let cases = run["cases"].as_array().unwrap().iter();
    cases
        .map(|case| case["trials"].as_array().unwrap().len())
        .sum()
}

impl UnderWay<'_> {
    /// Stops it when both cases of a round are up, with their groups: stopped, it can end neither.
    fn until_stopped_amid_a_round(&mut self) {
        until("both cases are up", || {
            assert!(!self.has_ended(), "it ended early: {}", self.stderr());
            self.stop();
            let is_amid = self.laboratory().pids(Role::Session).len() == 2
                && self.laboratory().groups().len() == 2;
            if !is_amid {
                self.signal(Signal::CONT);
            }
            is_amid.then_some(())
        });
    }
}

#[test]
fn a_kill_in_a_trial_loses_no_stored_trial_and_undo_removes_its_group() {
    if !has_groups("a_kill_in_a_trial_loses_no_stored_trial_and_undo_removes_its_group") {
        return;
    }
    let laboratory = Laboratory::new();
    let path = experiment_with_groups(&laboratory);
    let mut under_way = laboratory.start(&words(&path));
    under_way.until_trials_are_stored(3);
    under_way.until_stopped_amid_a_round();
    under_way.kill();
    under_way.finish();
    laboratory.no_process_or_memory_is_left();
    let run = laboratory.document(&["show", "last", "--json"]);
    assert_eq!(run["status"], "unfinished");
    // Two whole rounds of two cases, or more on a machine on which this test was late; both cases
    // of the next were up.
    let trials = trials_of(&run);
    assert!(trials >= 4 && trials.is_multiple_of(2), "{trials}");
    let left = laboratory.groups();
    assert_eq!(left.len(), 2, "{left:?}");

    let mut next = laboratory.start(&words(&path));
    let warning = format!(
        "in force from an earlier command: processor group {}",
        left[0].display()
    );
    until("the warning", || {
        assert!(!next.has_ended(), "{}", next.stderr());
        let said = next.stderr();
        (said.contains(&warning) && said.contains("numalab undo")).then_some(())
    });
    // Its signal handler is installed by the time it starts processes.
    next.until_there_are(1, Role::Session);
    next.signal_group(Signal::INT);
    next.finish().with_code(130);
    assert_eq!(
        laboratory.groups(),
        left,
        "only the killed one's group is left"
    );

    let listed = laboratory.run(&["undo", "--list"]).with_code(0).stdout;
    assert!(listed.contains(left[0].to_str().unwrap()), "{listed}");
    assert!(listed.contains("has ended"), "{listed}");
    let undone = laboratory.run(&["undo"]).with_code(0);
    for group in &left {
        let expected = format!("undone: processor group {}\n", group.display());
        assert!(undone.stdout.contains(&expected), "{}", undone.stdout);
    }
    let again = laboratory.run(&["undo"]).with_code(0);
    assert_eq!(again.stdout, "nothing to undo\n");
    laboratory.nothing_is_left();
}

#[test]
fn whenever_a_kill_comes_undo_takes_everything_back() {
    if !has_groups("whenever_a_kill_comes_undo_takes_everything_back") {
        return;
    }
    let laboratory = Laboratory::new();
    let path = experiment_with_groups(&laboratory);
    let mut random = fastrand::Rng::with_seed(20_261_121);
    let mut kills = 0;
    // On a busy machine, ten kills may all come before a run is stored.
    while kills < 10 || !laboratory.store().exists() {
        let moment = Duration::from_millis(random.u64(0..3_500) * (1 + kills / 10));
        kills += 1;
        let under_way = laboratory.start(&words(&path));
        // Do not wait for anything: the kill must be able to come at any moment of a run.
        std::thread::sleep(moment);
        under_way.kill();
        under_way.finish();
        laboratory.no_process_is_left();
        let left = laboratory.groups();
        let journal = laboratory.state().join("numalab/journal.jsonl");
        let journal = std::fs::read_to_string(journal).unwrap_or_default();
        let undone = laboratory.run(&["undo"]).with_code(0).stdout;
        for group in &left {
            assert!(
                undone.contains(group.to_str().unwrap()),
                "{moment:?}: left {left:?}, undone: {undone}; of the journal:\n{journal}"
            );
        }
        let again = laboratory.run(&["undo"]).with_code(0);
        assert_eq!(again.stdout, "nothing to undo\n", "{moment:?}");
        laboratory.nothing_is_left();
        if laboratory.store().exists() {
            let history = laboratory.document(&["history", "--json"]);
            for header in history["runs"].as_array().unwrap() {
                assert_eq!(header["status"], "unfinished");
                let run = laboratory.document(&["show", header["id"].as_str().unwrap(), "--json"]);
                assert_eq!(header["trials_valid"], trials_of(&run), "{moment:?}");
            }
        }
    }
}
