//! Writes runs: each function here is one transaction.

use model::{Calibration, Case, Run, RunStatus, Trial};

use crate::database::{Transaction, Value, new_uid};
use crate::document::{CALIBRATION, CASE, MACHINE, RUN, TRIAL};
use crate::schema::outcome_words;
use crate::{Error, Store};

/// The row id of a stored run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunNumber(pub(crate) i64);

impl Store {
    /// Claims the first of these ids that neither belongs to a run nor was claimed by a process,
    /// for a run to be stored later. If the run is never stored, only its id stays claimed.
    pub fn claim_id(&mut self, ids: impl Iterator<Item = String> + Clone) -> Result<String, Error> {
        self.write(|transaction| claim(transaction, ids.clone()))
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
        let (format, seed, uid) = (RUN.format(), run.seed.to_string(), new_uid()?);
        self.write(|transaction| {
            let number = insert_row(
                transaction,
                &run.id,
                &[
                    ("format", (&format).into()),
                    ("experiment", (&run.experiment).into()),
                    ("question", (&run.question).into()),
                    ("definition", (&run.definition).into()),
                    ("started_at", (&run.started_at).into()),
                    ("status", run.status.name().into()),
                    ("seed", (&seed).into()),
                    ("metric", run.metric.name().into()),
                    ("baseline", (&run.baseline).into()),
                    ("asks_about_memory", run.asks_about_memory.into()),
                    ("window_s", run.window_s.into()),
                    ("host", run.host().into()),
                    ("emulated", emulated.into()),
                    ("machine", machine.as_ref().into()),
                    ("calibration", calibration.as_ref().into()),
                    ("uid", (&uid).into()),
                ],
            )?;
            for (position, case) in run.cases.iter().enumerate() {
                insert_case(transaction, number, position, case)?;
            }
            for (position, skipped) in run.skipped.iter().enumerate() {
                transaction.execute(
                    "INSERT INTO skipped (run, position, case_name, reason)
                     VALUES ($1, $2, $3, $4)",
                    &[
                        number.0.into(),
                        (position as i64).into(),
                        (&skipped.case).into(),
                        (&skipped.reason).into(),
                    ],
                )?;
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
        self.write(|transaction| insert_trial(transaction, run, case_index, trial))
    }

    pub(crate) fn set_calibration(
        &mut self,
        run: RunNumber,
        calibration: &Calibration,
    ) -> Result<(), Error> {
        let text = CALIBRATION.write(calibration)?;
        self.update(
            "UPDATE runs SET calibration = $1 WHERE number = $2",
            &text,
            run,
        )
    }

    pub(crate) fn set_status(&mut self, run: RunNumber, status: RunStatus) -> Result<(), Error> {
        self.update(
            "UPDATE runs SET status = $1 WHERE number = $2",
            status.name(),
            run,
        )
    }

    fn update(&mut self, sql: &str, value: &str, run: RunNumber) -> Result<(), Error> {
        self.write(|transaction| {
            transaction.execute(sql, &[value.into(), run.0.into()])?;
            Ok(())
        })
    }
}

/// Claims the first of these ids that is free.
pub(crate) fn claim(
    transaction: &Transaction<'_>,
    ids: impl Iterator<Item = String>,
) -> Result<String, Error> {
    /// Of two that claim the same id, the second waits for the end of the first here.
    const CLAIM: &str = "INSERT INTO claimed_ids (id) VALUES ($1) ON CONFLICT DO NOTHING";
    /// So this one sees the run that the first has stored meanwhile.
    const GIVE_BACK: &str = "DELETE FROM claimed_ids
        WHERE id = $1 AND EXISTS (SELECT 1 FROM runs WHERE runs.id = claimed_ids.id)";
    let mut last = String::new();
    for id in ids {
        let claimed = transaction.execute(CLAIM, &[(&id).into()])?;
        if claimed == 1 && transaction.execute(GIVE_BACK, &[(&id).into()])? == 0 {
            return Ok(id);
        }
        last = id;
    }
    Err(Error::IdTaken {
        place: transaction.place().clone(),
        id: last,
    })
}

/// Inserts a row of `runs`; its id is claimed no more.
pub(crate) fn insert_row(
    transaction: &Transaction<'_>,
    id: &str,
    columns: &[(&str, Value<'_>)],
) -> Result<RunNumber, Error> {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let values = columns.iter().map(|(_, value)| value.clone());
    let values: Vec<Value<'_>> = [Value::from(id)].into_iter().chain(values).collect();
    let places: Vec<String> = (1..=values.len())
        .map(|place| format!("${place}"))
        .collect();
    let sql = format!(
        "INSERT INTO runs (id, {}) VALUES ({}) RETURNING number",
        names.join(", "),
        places.join(", ")
    );
    let number = transaction.first(&sql, &values, |row| row.get(0));
    let number = number.map_err(|error| error.with_id(id))?;
    transaction.execute("DELETE FROM claimed_ids WHERE id = $1", &[id.into()])?;
    // A statement that returns what it inserted returns a row.
    number
        .map(RunNumber)
        .ok_or(Error::NotRecording { what: "a run" })
}

fn insert_case(
    transaction: &Transaction<'_>,
    run: RunNumber,
    position: usize,
    case: &Case,
) -> Result<(), Error> {
    let plan = CASE.write(&case.plan)?;
    transaction.execute(
        "INSERT INTO cases (run, position, name, plan) VALUES ($1, $2, $3, $4)",
        &[
            run.0.into(),
            (position as i64).into(),
            (&case.plan.name).into(),
            (&plan).into(),
        ],
    )?;
    let mut trials = case.trials.iter();
    trials.try_for_each(|trial| insert_trial(transaction, run, position, trial))
}

fn insert_trial(
    transaction: &Transaction<'_>,
    run: RunNumber,
    case_index: usize,
    trial: &Trial,
) -> Result<(), Error> {
    let text = TRIAL.write(trial)?;
    let (outcome, reason) = outcome_words(&trial.outcome);
    let value = trial.measured.as_ref().map(|it| it.value);
    transaction.execute(
        "INSERT INTO trials (run, case_position, round, outcome, reason, value, trial)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        &[
            run.0.into(),
            (case_index as i64).into(),
            trial.round.into(),
            outcome.into(),
            reason.into(),
            value.into(),
            (&text).into(),
        ],
    )?;
    Ok(())
}
