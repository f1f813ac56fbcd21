//! Whatever lies where the store should be: an error that names it, no panic, and no change to it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::small_run::small_run;
use model::exit::ExitCode;
use rusqlite::Connection;
use store::{Error, Store};

/// A store with one run in it, changed by `sql`.
fn changed_store(path: &Path, sql: &str) {
    let mut store = Store::open(path).unwrap();
    store.insert(&small_run("a")).unwrap();
    drop(store);
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// Opens it both ways and reads everything; the error, if there was one.
fn read_everything(path: &Path) -> Option<Error> {
    let read = |store: Store| -> Result<(), Error> {
        for header in store.history(99)? {
            store.load(&header.id)?;
        }
        store.load("last").map(|_| ())
    };
    let existing = Store::open_existing(path).and_then(read).err();
    Store::open(path).and_then(read).err().or(existing)
}

fn check_error(sql: &str, expected: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    changed_store(&path, sql);
    let before = fs::read(&path).unwrap();
    let error = read_everything(&path).unwrap();
    let text = error.to_string().replace(path.to_str().unwrap(), "FILE");
    assert!(text.contains(expected), "{text}");
    assert_eq!(error.exit_code(), ExitCode::Store);
    assert_eq!(before, fs::read(&path).unwrap(), "the file was changed");
}

#[test]
fn a_newer_store_is_left_alone() {
    check_error(
        "PRAGMA user_version = 5",
        "the store \"FILE\" has schema version 5, but this numalab supports up to 4",
    );
    check_error(
        "UPDATE runs SET format = 'numalab.stored-run/2'",
        "the store \"FILE\" has a run version 2, but this numalab supports up to 1",
    );
    check_error(
        "UPDATE trials SET trial = '{\"format\":\"numalab.stored-trial/9\"}'",
        "the store \"FILE\" has a trial version 9, but this numalab supports up to 1",
    );
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    check_error(
        "PRAGMA application_id = 0",
        "\"FILE\" is another program's database",
    );
    check_error("PRAGMA user_version = -1", "was never released");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("other.db");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(matches!(
        read_everything(&path).unwrap(),
        Error::Foreign { .. }
    ));
}

#[test]
fn damage_inside_is_named() {
    check_error("DROP TABLE skipped", "no such table: skipped");
    check_error(
        "PRAGMA foreign_keys = OFF; DELETE FROM cases WHERE position = 0",
        "case 0 of a run is missing",
    );
    check_error(
        "PRAGMA foreign_keys = OFF; DELETE FROM cases WHERE position = 1",
        "case 1 of a run is missing",
    );
    check_error("UPDATE runs SET seed = '-1'", "expected a seed");
    check_error("UPDATE runs SET status = 'x'", "expected a status");
    check_error("UPDATE runs SET machine = '{}'", "the machine: missing");
    check_error(
        "PRAGMA foreign_keys = OFF; UPDATE cases SET position = position + (1 << 40)",
        "damaged",
    );
    check_error("UPDATE trials SET trial = x'ff' || '{'", "damaged");
    check_error("UPDATE cases SET plan = '['", "damaged: a case: ");
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    let text = "no database, but long enough to be taken for one\n".repeat(100);
    fs::write(&path, &text).unwrap();
    let error = read_everything(&path).unwrap();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn no_byte_of_a_file_can_make_it_panic() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    changed_store(&path, "");
    let whole = fs::read(&path).unwrap();
    for cut in (0..whole.len()).step_by(509) {
        fs::write(&path, &whole[..cut]).unwrap();
        assert!(read_everything(&path).is_some(), "cut at {cut}");
    }
    // The header and the first bytes of every page byte by byte, the rest in strides.
    let chosen = |at: &usize| *at < 100 || at % 4096 < 16 || at.is_multiple_of(251);
    for at in (0..whole.len()).filter(chosen) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        fs::write(&path, bytes).unwrap();
        let _ = read_everything(&path);
    }
}

#[test]
fn a_missing_store_is_made_only_for_writing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/b/store.db");
    let error = Store::open_existing(&path).unwrap_err();
    assert!(matches!(error, Error::NotThere { .. }), "{error}");
    assert!(!directory.path().join("a").exists());
    Store::open(&path).unwrap();
    let mode = |path: &str| {
        let metadata = fs::metadata(directory.path().join(path)).unwrap();
        metadata.permissions().mode() & 0o777
    };
    assert_eq!((mode("a"), mode("a/b")), (0o700, 0o700));
    Store::open_existing(&path).unwrap();
}

#[test]
fn an_empty_file_becomes_a_store_only_for_writing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    fs::write(&path, "").unwrap();
    let error = Store::open_existing(&path).unwrap_err();
    assert!(matches!(error, Error::NotThere { .. }), "{error}");
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    Store::open(&path).unwrap();
    assert_eq!(Store::open_existing(&path).unwrap().history(9).unwrap(), []);
}

#[test]
fn a_store_in_write_ahead_mode_is_switched_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    changed_store(&path, "PRAGMA journal_mode = WAL");
    let store = Store::open(&path).unwrap();
    assert_eq!(store.load("a").unwrap(), small_run("a"));
    drop(store);
    let connection = Connection::open(&path).unwrap();
    let mode: String = connection
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "delete");
}

#[test]
fn special_names_are_names_of_files() {
    let directory = tempfile::tempdir().unwrap();
    for name in [":memory:", "file:x?mode=memory", "a b\n\u{1b}[2J"] {
        let path = directory.path().join(name);
        Store::open(&path).unwrap().insert(&small_run("a")).unwrap();
        assert!(path.is_file(), "{name:?}");
    }
}

#[test]
fn places_that_cannot_hold_a_store_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Store::open(&file.join("store.db")).unwrap_err();
    assert!(matches!(error, Error::Directory { .. }), "{error}");
    let error = Store::open(Path::new("/proc/numalab/store.db")).unwrap_err();
    assert!(matches!(error, Error::Directory { .. }), "{error}");
    let error = Store::open(directory.path()).unwrap_err();
    assert!(matches!(error, Error::NotWritable { .. }), "{error}");
    let error = Store::open(Path::new("/dev/full")).unwrap_err();
    assert_eq!(error.exit_code(), ExitCode::Store, "{error}");
}
