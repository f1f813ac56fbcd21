//! A stored file of every released version can be read.

use std::fs;
use std::path::{Path, PathBuf};

use crate::small_run::{live_run, small_run};
use store::{Store, Stored};

/// The version of the files that this program writes.
const PRESENT: u32 = 4;

fn file_of(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/released/version-{version}.db"))
}

/// Before a release, the file of its version is rebuilt with `NUMALAB_BUILD_STORE_FILE=1`.
fn build_if_asked() {
    if std::env::var_os("NUMALAB_BUILD_STORE_FILE").is_some() {
        let path = file_of(PRESENT);
        if path.exists() {
            fs::remove_file(&path).unwrap();
        }
        let mut store = Store::open(&path).unwrap();
        store.insert(&small_run("released")).unwrap();
        store.put_live(&live_run("live")).unwrap();
    }
}

#[test]
fn a_stored_file_of_every_released_version_can_be_read() {
    build_if_asked();
    for version in 1..=PRESENT {
        // A copy, because opening an older version brings it up to date.
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        fs::copy(file_of(version), &path).unwrap();
        let store = Store::open_existing(&path).unwrap();
        // Runs of live windows came with version 3.
        let runs = if version < 3 { 1 } else { 2 };
        assert_eq!(store.history(9).unwrap().len(), runs, "version {version}");
        let run = store.load("released").unwrap();
        assert_eq!(run, small_run("released"), "version {version}");
        if version >= 3 {
            let live = Stored::Live(Box::new(live_run("live")));
            assert_eq!(store.load_any("live").unwrap(), live, "version {version}");
        }
    }
}
