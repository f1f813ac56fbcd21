//! Reads runs: a list of them, or a whole one.

use std::path::Path;

use model::{Case, Metric, Run, RunHeader, RunStatus, Skipped};
use rusqlite::{Connection, Row};

use crate::document::{CALIBRATION, CASE, MACHINE, RUN, TRIAL};
use crate::record::RunNumber;
use crate::schema::{status_of, status_word};
use crate::{Error, Store};

impl Store {
    /// The most recently stored runs, newest first, at most `limit` of them.
    pub fn history(&self, limit: usize) -> Result<Vec<RunHeader>, Error> {
        let failed = |cause| Error::sqlite(&self.path, cause);
        // One transaction, for a consistent snapshot of a run that is being recorded.
        let transaction = self.connection.unchecked_transaction().map_err(failed)?;
        let mut runs = newest(&self.path, &transaction, limit)?;
        count_all(&transaction, &mut runs).map_err(failed)?;
        Ok(runs.into_iter().map(|(_, run)| run).collect())
    }

    /// The run with this whole id, without reading others; `None` if there is none.
    pub fn header(&self, id: &str) -> Result<Option<RunHeader>, Error> {
        let failed = |cause| Error::sqlite(&self.path, cause);
        let transaction = self.connection.unchecked_transaction().map_err(failed)?;
        let mut runs = headers(&self.path, &transaction, "WHERE id = ?", [id])?;
        count_all(&transaction, &mut runs).map_err(failed)?;
        Ok(runs.pop().map(|(_, run)| run))
    }

    /// Of each experiment the newest run that has ended, has a trial, and is not of an emulated
    /// machine, newest first. Reads no trial of others.
    pub fn newest_of_each(&self) -> Result<Vec<RunHeader>, Error> {
        const RULE: &str = "
            WHERE number IN (
                SELECT max(number) FROM runs
                WHERE status <> ? AND emulated IS NOT 1
                AND EXISTS (SELECT 1 FROM trials WHERE run = runs.number)
                GROUP BY experiment
            ) ORDER BY number DESC";
        let failed = |cause| Error::sqlite(&self.path, cause);
        let transaction = self.connection.unchecked_transaction().map_err(failed)?;
        let unfinished = status_word(RunStatus::Unfinished);
        let mut runs = headers(&self.path, &transaction, RULE, [unfinished])?;
        for run in &mut runs {
            count_all(&transaction, std::slice::from_mut(run)).map_err(failed)?;
        }
        Ok(runs.into_iter().map(|(_, run)| run).collect())
    }

    /// Reads a run of an experiment.
    pub(crate) fn read_whole(
        &self,
        transaction: &Connection,
        number: RunNumber,
    ) -> Result<Run, Error> {
        let mut run = read_run(&self.path, transaction, number)?;
        run.cases = read_cases(&self.path, transaction, number)?;
        run.skipped = read_skipped(&self.path, transaction, number)?;
        Ok(run)
    }
}

/// What is counted of each run, and where it goes. The rows come in the order of an index, so
/// SQLite sorts and stores nothing: joined to 10,000 runs, they took twice the time.
const COUNTS: [(&str, AddRow); 4] = [
    (
        // Counted here: three sums of SQLite's over these rows took longer than to hand them out.
        "SELECT run, outcome FROM trials WHERE run BETWEEN ? AND ? ORDER BY run",
        |run, row| {
            match row.get_ref(1)?.as_str()? {
                "valid" => run.trials_valid += 1,
                "invalid" => run.trials_invalid += 1,
                _ => run.trials_failed += 1,
            }
            Ok(())
        },
    ),
    (
        "SELECT run, count(*) FROM cases WHERE run BETWEEN ? AND ? GROUP BY run",
        |run, row| {
            run.cases = row.get(1)?;
            Ok(())
        },
    ),
    (
        "SELECT run, count(*) FROM skipped WHERE run BETWEEN ? AND ? GROUP BY run",
        |run, row| {
            run.skipped = row.get(1)?;
            Ok(())
        },
    ),
    (
        "SELECT run, placements, windows_valid, windows_void, label FROM live_runs
         WHERE run BETWEEN ? AND ? ORDER BY run",
        |run, row| {
            run.cases = row.get(1)?;
            run.trials_valid = row.get(2)?;
            run.trials_invalid = row.get(3)?;
            run.label = row.get(4)?;
            Ok(())
        },
    ),
];

type AddRow = fn(&mut RunHeader, &Row<'_>) -> rusqlite::Result<()>;

/// The newest runs without what is counted, by descending number.
fn newest(
    path: &Path,
    connection: &Connection,
    limit: usize,
) -> Result<Vec<(RunNumber, RunHeader)>, Error> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    headers(path, connection, "ORDER BY number DESC LIMIT ?", [limit])
}

/// The runs of which a query tells which and in which order, without what is counted.
fn headers(
    path: &Path,
    connection: &Connection,
    which: &str,
    parameter: impl rusqlite::Params,
) -> Result<Vec<(RunNumber, RunHeader)>, Error> {
    let sql = format!(
        "SELECT number, id, experiment, started_at, status, host, emulated FROM runs {which}"
    );
    let failed = |cause| Error::sqlite(path, cause);
    let mut statement = connection.prepare(&sql).map_err(failed)?;
    let mut rows = statement.query(parameter).map_err(failed)?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        let status: String = row.get(4).map_err(failed)?;
        let status = read_status(path, &status)?;
        let number = RunNumber(row.get(0).map_err(failed)?);
        runs.push((number, header(row, status).map_err(failed)?));
    }
    Ok(runs)
}

fn header(row: &Row<'_>, status: RunStatus) -> rusqlite::Result<RunHeader> {
    Ok(RunHeader {
        id: row.get(1)?,
        experiment: row.get(2)?,
        label: None,
        started_at: row.get(3)?,
        status,
        host: row.get(5)?,
        emulated: row.get(6)?,
        cases: 0,
        skipped: 0,
        trials_valid: 0,
        trials_invalid: 0,
        trials_failed: 0,
    })
}

/// Counts what belongs to these runs, by descending number, in one pass over what belongs to them
/// and those between.
fn count_all(connection: &Connection, runs: &mut [(RunNumber, RunHeader)]) -> rusqlite::Result<()> {
    let mut counts = COUNTS.iter();
    counts.try_for_each(|(sql, add)| count(connection, runs, sql, *add))
}

/// Adds the rows of `sql`, which start with the number of their run, from the oldest run on.
fn count(
    connection: &Connection,
    runs: &mut [(RunNumber, RunHeader)],
    sql: &str,
    add: AddRow,
) -> rusqlite::Result<()> {
    let (Some((oldest, _)), Some((newest, _))) = (runs.last(), runs.first()) else {
        return Ok(());
    };
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([oldest.0, newest.0])?;
    let mut place = Err(0);
    while let Some(row) = rows.next()? {
        let of: i64 = row.get(0)?;
        // Rows of a run follow each other.
        if !place.is_ok_and(|place: usize| runs[place].0.0 == of) {
            place = runs.binary_search_by(|(number, _)| of.cmp(&number.0));
        }
        if let Ok(place) = place {
            add(&mut runs[place].1, row)?;
        }
    }
    Ok(())
}

/// The run without its cases.
fn read_run(path: &Path, connection: &Connection, number: RunNumber) -> Result<Run, Error> {
    let failed = |cause| Error::sqlite(path, cause);
    let mut statement = connection
        .prepare(
            "SELECT id, format, experiment, question, definition, started_at, status, seed,
                 metric, baseline, asks_about_memory, window_s, machine, calibration
             FROM runs WHERE number = ?",
        )
        .map_err(failed)?;
    let mut rows = statement.query([number.0]).map_err(failed)?;
    let row = rows.next().map_err(failed)?;
    let row = row.ok_or_else(|| damaged(path, "a run vanished while it was read".to_string()))?;
    let text = |column: &str| row.get::<_, String>(column).map_err(failed);
    RUN.check_format(path, &text("format")?)?;
    let seed = text("seed")?;
    let machine: Option<String> = row.get("machine").map_err(failed)?;
    let calibration: Option<String> = row.get("calibration").map_err(failed)?;
    Ok(Run {
        id: text("id")?,
        experiment: text("experiment")?,
        question: text("question")?,
        definition: text("definition")?,
        started_at: text("started_at")?,
        status: read_status(path, &text("status")?)?,
        machine: machine.map(|text| MACHINE.read(path, &text)).transpose()?,
        seed: seed
            .parse()
            .map_err(|_| damaged(path, format!("expected a seed, found {seed:?}")))?,
        metric: read_metric(path, &text("metric")?)?,
        baseline: text("baseline")?,
        asks_about_memory: row.get("asks_about_memory").map_err(failed)?,
        window_s: row.get("window_s").map_err(failed)?,
        calibration: calibration
            .map(|text| CALIBRATION.read(path, &text))
            .transpose()?,
        cases: Vec::new(),
        skipped: Vec::new(),
    })
}

/// The cases with their trials.
fn read_cases(path: &Path, connection: &Connection, run: RunNumber) -> Result<Vec<Case>, Error> {
    let failed = |cause| Error::sqlite(path, cause);
    let mut cases = Vec::new();
    let mut statement = connection
        .prepare("SELECT position, plan FROM cases WHERE run = ? ORDER BY position")
        .map_err(failed)?;
    let mut rows = statement.query([run.0]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        let (position, plan): (u32, String) =
            (row.get(0).map_err(failed)?, row.get(1).map_err(failed)?);
        if position as usize != cases.len() {
            return Err(damaged(
                path,
                format!("case {} of a run is missing", cases.len()),
            ));
        }
        cases.push(Case {
            plan: CASE.read(path, &plan)?,
            trials: Vec::new(),
        });
    }
    let mut statement = connection
        .prepare("SELECT case_position, trial FROM trials WHERE run = ? ORDER BY number")
        .map_err(failed)?;
    let mut rows = statement.query([run.0]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        let (position, trial): (u32, String) =
            (row.get(0).map_err(failed)?, row.get(1).map_err(failed)?);
        let case = cases
            .get_mut(position as usize)
            .ok_or_else(|| damaged(path, format!("case {position} of a run is missing")))?;
        case.trials.push(TRIAL.read(path, &trial)?);
    }
    Ok(cases)
}

fn read_skipped(
    path: &Path,
    connection: &Connection,
    run: RunNumber,
) -> Result<Vec<Skipped>, Error> {
    let read = || {
        let mut statement = connection
            .prepare("SELECT case_name, reason FROM skipped WHERE run = ? ORDER BY position")?;
        let rows = statement.query_map([run.0], |row| {
            Ok(Skipped {
                case: row.get(0)?,
                reason: row.get(1)?,
            })
        })?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    };
    read().map_err(|cause| Error::sqlite(path, cause))
}

pub(crate) fn read_status(path: &Path, word: &str) -> Result<RunStatus, Error> {
    status_of(word).ok_or_else(|| damaged(path, format!("expected a status, found {word:?}")))
}

fn read_metric(path: &Path, name: &str) -> Result<Metric, Error> {
    Metric::named(name).ok_or_else(|| damaged(path, format!("expected a metric, found {name:?}")))
}

pub(crate) fn damaged(path: &Path, cause: String) -> Error {
    Error::Damaged {
        path: path.to_path_buf(),
        cause,
    }
}
