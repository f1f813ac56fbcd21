//! Writes runs: each function here is one transaction.

use model::{Calibration, Case, Run, RunStatus, Trial};
use rusqlite::{Transaction, TransactionBehavior, named_params, params};

use crate::document::{CALIBRATION, CASE, MACHINE, RUN, TRIAL};
use crate::schema::{outcome_words, status_word};
use crate::{Error, Store};

/// The row id of a stored run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunNumber(pub(crate) i64);

impl Store {
    /// Claims the first of these ids that neither belongs to a run nor was claimed by a process,
    /// for a run to be stored later. If the run is never stored, only its id stays claimed.
    pub fn claim_id(&mut self, mut ids: impl Iterator<Item = String>) -> Result<String, Error> {
        const SQL: &str = "
            INSERT OR IGNORE INTO claimed_ids (id)
            SELECT :id WHERE NOT EXISTS (SELECT 1 FROM runs WHERE id = :id)";
        let path = self.path.clone();
        let mut last = String::new();
        self.in_transaction(|transaction| {
            for id in &mut ids {
                let claimed = transaction.execute(SQL, named_params! { ":id": id });
                if claimed.map_err(|cause| Error::sqlite(&path, cause))? == 1 {
                    return Ok(id);
                }
                last = id;
            }
            let id = last.clone();
            Err(Error::IdTaken { path, id })
        })
    }

    /// Stores a whole run with its trials, or nothing at all.
    pub fn insert(&mut self, run: &Run) -> Result<(), Error> {
        self.insert_run(run).map(|_| ())
    }

    pub(crate) fn insert_run(&mut self, run: &Run) -> Result<RunNumber, Error> {
        let machine = run.machine.as_ref();
        let emulated = machine.and_then(|machine| machine.emulated);
        let machine = machine.map(|it| MACHINE.write(it)).transpose()?;
        let calibration = run.calibration.as_ref();
        let calibration = calibration.map(|it| CALIBRATION.write(it)).transpose()?;
        let path = self.path.clone();
        self.in_transaction(|transaction| {
            let done = transaction.execute(
                "INSERT INTO runs (id, format, experiment, question, definition, started_at,
                     status, seed, metric, baseline, asks_about_memory, window_s, host, emulated,
                     machine, calibration)
                 VALUES (:id, :format, :experiment, :question, :definition, :started_at,
                     :status, :seed, :metric, :baseline, :asks_about_memory, :window_s,
                     :host, :emulated, :machine, :calibration)",
                named_params! {
                    ":id": run.id,
                    ":format": RUN.format(),
                    ":experiment": run.experiment,
                    ":question": run.question,
                    ":definition": run.definition,
                    ":started_at": run.started_at,
                    ":status": status_word(run.status),
                    ":seed": run.seed.to_string(),
                    ":metric": run.metric.name(),
                    ":baseline": run.baseline,
                    ":asks_about_memory": run.asks_about_memory,
                    ":window_s": run.window_s,
                    ":host": run.host(),
                    ":emulated": emulated,
                    ":machine": machine,
                    ":calibration": calibration,
                },
            );
            let number = inserted(transaction, &path, &run.id, done)?;
            for (position, case) in run.cases.iter().enumerate() {
                insert_case(transaction, &path, number, position, case)?;
            }
            for (position, skipped) in run.skipped.iter().enumerate() {
                let inserted = transaction.execute(
                    "INSERT INTO skipped (run, position, case_name, reason) VALUES (?, ?, ?, ?)",
                    params![number.0, position as i64, skipped.case, skipped.reason],
                );
                inserted.map_err(|cause| Error::sqlite(&path, cause))?;
            }
            Ok(number)
        })
    }

    pub(crate) fn insert_trial(
        &mut self,
        run: RunNumber,
        case_index: usize,
        trial: &Trial,
    ) -> Result<(), Error> {
        let path = self.path.clone();
        self.in_transaction(|transaction| insert_trial(transaction, &path, run, case_index, trial))
    }

    pub(crate) fn set_calibration(
        &mut self,
        run: RunNumber,
        calibration: &Calibration,
    ) -> Result<(), Error> {
        let text = CALIBRATION.write(calibration)?;
        self.update(
            "UPDATE runs SET calibration = ? WHERE number = ?",
            &text,
            run,
        )
    }

    pub(crate) fn set_status(&mut self, run: RunNumber, status: RunStatus) -> Result<(), Error> {
        self.update(
            "UPDATE runs SET status = ? WHERE number = ?",
            status_word(status),
            run,
        )
    }

    fn update(&mut self, sql: &str, value: &str, run: RunNumber) -> Result<(), Error> {
        let path = self.path.clone();
        self.in_transaction(|transaction| {
            let updated = transaction.execute(sql, params![value, run.0]);
            updated.map_err(|cause| Error::sqlite(&path, cause))?;
            Ok(())
        })
    }

    /// Commits the changes made by `write`, or rolls all of them back.
    ///
    /// Takes the write lock at the start: two writers that both begin as readers would deadlock.
    pub(crate) fn in_transaction<T>(
        &mut self,
        write: impl FnOnce(&Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let failed = |cause| Error::sqlite(&self.path, cause);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let value = write(&transaction)?;
        transaction.commit().map_err(failed)?;
        Ok(value)
    }
}

/// The number of a run whose row was inserted; its id is claimed no more.
pub(crate) fn inserted(
    transaction: &Transaction<'_>,
    path: &std::path::Path,
    id: &str,
    done: rusqlite::Result<usize>,
) -> Result<RunNumber, Error> {
    done.map_err(|cause| match cause.sqlite_error() {
        Some(error) if error.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE => {
            Error::IdTaken {
                path: path.to_path_buf(),
                id: id.to_owned(),
            }
        }
        _ => Error::sqlite(path, cause),
    })?;
    let number = RunNumber(transaction.last_insert_rowid());
    let unclaimed = transaction.execute("DELETE FROM claimed_ids WHERE id = ?", [id]);
    unclaimed.map_err(|cause| Error::sqlite(path, cause))?;
    Ok(number)
}

fn insert_case(
    transaction: &Transaction<'_>,
    path: &std::path::Path,
    run: RunNumber,
    position: usize,
    case: &Case,
) -> Result<(), Error> {
    let plan = CASE.write(&case.plan)?;
    let inserted = transaction.execute(
        "INSERT INTO cases (run, position, name, plan) VALUES (?, ?, ?, ?)",
        params![run.0, position as i64, case.plan.name, plan],
    );
    inserted.map_err(|cause| Error::sqlite(path, cause))?;
    for trial in &case.trials {
        insert_trial(transaction, path, run, position, trial)?;
    }
    Ok(())
}

fn insert_trial(
    transaction: &Transaction<'_>,
    path: &std::path::Path,
    run: RunNumber,
    case_index: usize,
    trial: &Trial,
) -> Result<(), Error> {
    let text = TRIAL.write(trial)?;
    let (outcome, reason) = outcome_words(&trial.outcome);
    let value = trial.measured.as_ref().map(|it| it.value);
    let inserted = transaction.execute(
        "INSERT INTO trials
             (run, case_position, round, outcome, reason, value, trial)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
        params![
            run.0,
            case_index as i64,
            trial.round,
            outcome,
            reason,
            value,
            text
        ],
    );
    inserted.map(|_| ()).map_err(|cause| {
        match cause.sqlite_error().map(|error| error.extended_code) {
            Some(rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY) => {
                Error::NotRecording { what: "a trial" }
            }
            _ => Error::sqlite(path, cause),
        }
    })
}
