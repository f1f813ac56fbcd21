//! Stores that cannot be used: damaged, newer, foreign, or in a place that cannot hold one.
//!
//! Tests of store.

use std::fs;
use std::path::Path;

use linux::private_folder::PrivateFolder;
use rusqlite::Connection;
use store::Store;

use crate::laboratory::Laboratory;

/// The commands that open the store.
const COMMANDS: [&[&str]; 4] = [
    &["history"],
    &["history", "--json"],
    &["show", "last"],
    &["run", "binding-vs-caging"],
];

/// Returns a laboratory whose store was created, closed, and then changed by `change`.
fn with_store(change: impl FnOnce(&Path)) -> Laboratory {
    let laboratory = Laboratory::new();
    drop(Store::open(&laboratory.store()).unwrap());
    change(&laboratory.store());
    laboratory
}

#[track_caller]
fn check(laboratory: &Laboratory, expected: &[&str]) {
    let store = laboratory.store();
    let before = fs::read(&store).unwrap_or_default();
    for command in COMMANDS {
        let refused = laboratory.run(command).with_code(9);
        refused.says(&[&["numalab: "], expected, &["hint: "]].concat());
        assert_eq!(refused.stdout, "", "{command:?}");
    }
    assert_eq!(
        before,
        fs::read(&store).unwrap_or_default(),
        "the file was changed"
    );
    laboratory.nothing_is_left();
}

#[test]
fn a_damaged_store_is_left_alone() {
    let file = "runs.sqlite";
    let overwritten = with_store(|store| fs::write(store, "x".repeat(9000)).unwrap());
    check(&overwritten, &[file, "damaged"]);
    let cut = with_store(|store| {
        let whole = fs::read(store).unwrap();
        fs::write(store, &whole[..whole.len() / 2]).unwrap();
    });
    check(&cut, &[file, "damaged"]);
}

#[test]
fn a_newer_store_is_left_alone() {
    let newer = with_store(|store| {
        let connection = Connection::open(store).unwrap();
        connection
            .execute_batch("PRAGMA user_version = 99")
            .unwrap();
    });
    check(
        &newer,
        &["runs.sqlite", "schema version 99", "supports up to 4"],
    );
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let foreign = with_store(|store| {
        let connection = Connection::open(store).unwrap();
        connection
            .execute_batch("PRAGMA application_id = 7")
            .unwrap();
    });
    check(&foreign, &["runs.sqlite", "another program"]);
}

#[test]
fn a_state_folder_that_is_a_file_is_named() {
    let laboratory = Laboratory::new();
    fs::write(laboratory.state().join("numalab"), "").unwrap();
    let refused = laboratory.run(&["run", "binding-vs-caging"]).with_code(9);
    refused.says(&["state/numalab"]);
}

#[test]
fn a_damaged_journal_is_named_and_left_alone() {
    let laboratory = Laboratory::new();
    let folder = laboratory.state().join("numalab");
    let made = PrivateFolder::open_or_make(&folder).unwrap();
    made.append("journal.jsonl").unwrap();
    let journal = folder.join("journal.jsonl");
    fs::write(&journal, "{\"entry\":1}\n").unwrap();
    for command in [
        &["undo"][..],
        &["undo", "--list"],
        &["run", "binding-vs-caging"],
    ] {
        laboratory
            .run(command)
            .with_code(9)
            .says(&["journal.jsonl", "line 1"]);
    }
    assert_eq!(fs::read_to_string(&journal).unwrap(), "{\"entry\":1}\n");
}

#[test]
fn no_folder_to_keep_runs_in_is_named() {
    let laboratory = Laboratory::new();
    for command in COMMANDS {
        let mut command = laboratory.command(command);
        let output = command
            .env_remove("XDG_STATE_HOME")
            .env_remove("HOME")
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(9), "{said}");
        assert!(said.contains("XDG_STATE_HOME"), "{said}");
    }
}

#[test]
fn an_unknown_run_is_refused() {
    let empty = Laboratory::new();
    for name in ["last", "20261121"] {
        empty
            .run(&["show", name])
            .with_code(2)
            .says(&["run an experiment first: numalab run"]);
    }
    let listed = empty.run(&["history"]).with_code(0);
    listed.says(&["no runs stored yet; run an experiment: numalab run"]);
    assert!(!empty.store().exists(), "looking makes nothing");
    let without_runs = with_store(|_| {});
    without_runs
        .run(&["show", "last"])
        .with_code(2)
        .says(&["has no runs"]);
}
