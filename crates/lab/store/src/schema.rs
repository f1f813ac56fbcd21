//! The tables, the steps that upgrade an older file to them, and the stored names of run statuses
//! and trial outcomes.

use std::path::Path;

use model::{Outcome, RunStatus};
use rusqlite::{Connection, TransactionBehavior};

use crate::Error;

/// "numa" in ASCII: in SQLite's field for the program that owns a file.
const APPLICATION_ID: i64 = 0x6e75_6d61;

/// Step `n` upgrades a file from version `n` to version `n + 1`. A released step is never edited.
const STEPS: [&str; 3] = [STEP_1, STEP_2, STEP_3];

const STEP_1: &str = "
    CREATE TABLE runs (
        number            INTEGER PRIMARY KEY AUTOINCREMENT,
        id                TEXT NOT NULL UNIQUE,
        format            TEXT NOT NULL,
        experiment        TEXT NOT NULL,
        question          TEXT NOT NULL,
        definition        TEXT NOT NULL,
        started_at        TEXT NOT NULL,
        status            TEXT NOT NULL,
        seed              TEXT NOT NULL,
        metric            TEXT NOT NULL,
        baseline          TEXT NOT NULL,
        asks_about_memory INTEGER NOT NULL,
        window_s          REAL,
        host              TEXT,
        emulated          INTEGER,
        machine           TEXT,
        calibration       TEXT
    ) STRICT;
    CREATE TABLE cases (
        run      INTEGER NOT NULL REFERENCES runs (number),
        position INTEGER NOT NULL,
        name     TEXT NOT NULL,
        plan     TEXT NOT NULL,
        PRIMARY KEY (run, position)
    ) STRICT;
    CREATE TABLE trials (
        number        INTEGER PRIMARY KEY AUTOINCREMENT,
        run           INTEGER NOT NULL,
        case_position INTEGER NOT NULL,
        round         INTEGER NOT NULL,
        outcome       TEXT NOT NULL CHECK (outcome IN ('valid', 'invalid', 'failed')),
        reason        TEXT,
        value         REAL,
        trial         TEXT NOT NULL,
        FOREIGN KEY (run, case_position) REFERENCES cases (run, position)
    ) STRICT;
    CREATE INDEX trials_of_case ON trials (run, case_position, number, outcome);
    CREATE TABLE skipped (
        run       INTEGER NOT NULL REFERENCES runs (number),
        position  INTEGER NOT NULL,
        case_name TEXT NOT NULL,
        reason    TEXT NOT NULL,
        PRIMARY KEY (run, position)
    ) STRICT;
";

const STEP_2: &str = "
    CREATE TABLE claimed_ids (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
";

const STEP_3: &str = "
    CREATE TABLE live_runs (
        run           INTEGER PRIMARY KEY REFERENCES runs (number),
        label         TEXT,
        placements    INTEGER NOT NULL,
        windows_valid INTEGER NOT NULL,
        windows_void  INTEGER NOT NULL,
        measured      TEXT NOT NULL
    ) STRICT;
    CREATE INDEX live_runs_of_label ON live_runs (label, run);
";

/// The schema version this program writes.
pub(crate) const VERSION: i64 = STEPS.len() as i64;

/// The state of a file before any change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It is empty.
    Empty,
    /// A store of an older version.
    Older(i64),
    /// A store of this version.
    Current,
}

/// Determines the state of a file. A file of another program or of a newer version is an error.
///
/// One statement, and so one read transaction: another process may create or migrate the file at
/// the same time, and values from separate reads would be inconsistent.
pub(crate) fn identify(path: &Path, connection: &Connection) -> Result<State, Error> {
    const SQL: &str = "
        SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
        FROM pragma_application_id, pragma_user_version";
    let (application_id, version, tables): (i64, i64, i64) = connection
        .query_row(SQL, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .map_err(|cause| Error::sqlite(path, cause))?;
    let path = path.to_path_buf();
    match (application_id, version) {
        (0, 0) if tables == 0 => Ok(State::Empty),
        (APPLICATION_ID, version) if version > VERSION => Err(Error::Newer {
            path,
            what: "schema",
            found: version,
            known: VERSION,
        }),
        (APPLICATION_ID, VERSION) => Ok(State::Current),
        (APPLICATION_ID, version) if version > 0 => Ok(State::Older(version)),
        (APPLICATION_ID, version) => Err(Error::Damaged {
            path,
            cause: format!("schema version {version} was never released"),
        }),
        _ => Err(Error::Foreign { path }),
    }
}

/// Rejects a truncated file, as left by an interrupted copy.
///
/// SQLite reads the missing part of a last page as zeros and may find rows in it. The file may be
/// longer than its pages while another process adds some. In write-ahead mode it may be shorter.
pub(crate) fn check_length(path: &Path, connection: &Connection) -> Result<(), Error> {
    const SQL: &str = "
        SELECT page_count * page_size, journal_mode = 'wal'
        FROM pragma_page_count, pragma_page_size, pragma_journal_mode";
    let (bytes, write_ahead): (i64, bool) = connection
        .query_row(SQL, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(|cause| Error::sqlite(path, cause))?;
    let found = std::fs::metadata(path).map_or(u64::MAX, |metadata| metadata.len());
    if write_ahead || found >= bytes.unsigned_abs() {
        return Ok(());
    }
    Err(Error::Damaged {
        path: path.to_path_buf(),
        cause: format!("it has {found} bytes, and {bytes} are expected"),
    })
}

/// Upgrades a file to this version in one transaction, unless another process has already done so.
pub(crate) fn migrate(path: &Path, connection: &mut Connection) -> Result<(), Error> {
    let failed = |cause| Error::sqlite(path, cause);
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    let steps_done = match identify(path, &transaction)? {
        State::Current => return Ok(()),
        State::Older(version) => version as usize,
        State::Empty => 0,
    };
    for step in &STEPS[steps_done..] {
        transaction.execute_batch(step).map_err(failed)?;
    }
    for (pragma, value) in [
        ("application_id", APPLICATION_ID),
        ("user_version", VERSION),
    ] {
        transaction
            .pragma_update(None, pragma, value)
            .map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}

const STATUSES: [(RunStatus, &str); 6] = [
    (RunStatus::Unfinished, "unfinished"),
    (RunStatus::Settled, "settled"),
    (RunStatus::Bounded, "bounded"),
    (RunStatus::Interrupted, "interrupted"),
    (RunStatus::Failed, "failed"),
    (RunStatus::Imported, "imported"),
];

/// The stored name of a status.
pub(crate) fn status_word(status: RunStatus) -> &'static str {
    let row = STATUSES.iter().find(|(known, _)| *known == status);
    row.expect("the table has a row for every variant").1
}

/// The status with this stored name.
pub(crate) fn status_of(word: &str) -> Option<RunStatus> {
    let row = STATUSES.iter().find(|(_, known)| *known == word);
    row.map(|(status, _)| *status)
}

/// The stored name of an outcome, and its reason.
pub(crate) fn outcome_words(outcome: &Outcome) -> (&'static str, Option<&str>) {
    match outcome {
        Outcome::Valid => ("valid", None),
        Outcome::Invalid(reason) => ("invalid", Some(reason)),
        Outcome::Failed(reason) => ("failed", Some(reason)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_statuses_are_inverse() {
        for (status, word) in STATUSES {
            assert_eq!(status_word(status), word);
            assert_eq!(status_of(word), Some(status));
        }
        assert_eq!(status_of("done"), None);
    }
}
