//! Reads runs: a list of them, or a whole one.

use model::{Case, Metric, Run, RunHeader, RunStatus, Skipped};

use crate::database::{Row, Transaction, Value};
use crate::document::{CALIBRATION, CASE, MACHINE, RUN, TRIAL};
use crate::error::damaged;
use crate::place::Place;
use crate::record::RunNumber;
use crate::{Error, Store};

impl Store {
    /// The most recently stored runs, newest first, at most `limit` of them.
    pub fn history(&self, limit: usize) -> Result<Vec<RunHeader>, Error> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|transaction| {
            let newest = "ORDER BY number DESC LIMIT $1";
            let mut runs = headers(transaction, newest, &[limit.into()])?;
            count_all(transaction, &mut runs)?;
            Ok(runs.into_iter().map(|(_, run)| run).collect())
        })
    }

    /// The run with this whole id, without reading others; `None` if there is none.
    pub fn header(&self, id: &str) -> Result<Option<RunHeader>, Error> {
        self.read(|transaction| {
            let mut runs = headers(transaction, "WHERE id = $1", &[id.into()])?;
            count_all(transaction, &mut runs)?;
            Ok(runs.pop().map(|(_, run)| run))
        })
    }

    /// Of each experiment the newest run that has ended, has a trial, and is not of an emulated
    /// machine, newest first. Reads no trial of others.
    pub fn newest_of_each(&self) -> Result<Vec<RunHeader>, Error> {
        const RULE: &str = "
            WHERE number IN (
                SELECT max(number) FROM runs
                WHERE status <> $1 AND emulated IS DISTINCT FROM 1
                AND EXISTS (SELECT 1 FROM trials WHERE run = runs.number)
                GROUP BY experiment
            ) ORDER BY number DESC";
        let unfinished = RunStatus::Unfinished.name();
        self.read(|transaction| {
            let mut runs = headers(transaction, RULE, &[unfinished.into()])?;
            for run in &mut runs {
                count_all(transaction, std::slice::from_mut(run))?;
            }
            Ok(runs.into_iter().map(|(_, run)| run).collect())
        })
    }
}

/// Reads a run of an experiment.
pub(crate) fn read_whole(transaction: &Transaction<'_>, number: RunNumber) -> Result<Run, Error> {
    let mut run = read_run(transaction, number)?;
    run.cases = read_cases(transaction, number)?;
    run.skipped = read_skipped(transaction, number)?;
    Ok(run)
}

/// What is counted of each run, and where it goes. The rows come in the order of an index, so
/// SQLite sorts and stores nothing: joined to 10,000 runs, they took twice the time.
const COUNTS: [(&str, AddRow); 4] = [
    (
        // Counted here: three sums of SQLite's over these rows took longer than to hand them out.
        "SELECT run, outcome FROM trials WHERE run BETWEEN $1 AND $2 ORDER BY run",
        |run, row| {
            match row.text(1)? {
                "valid" => run.trials_valid += 1,
                "invalid" => run.trials_invalid += 1,
                _ => run.trials_failed += 1,
            }
            Ok(())
        },
    ),
    (
        "SELECT run, count(*) FROM cases WHERE run BETWEEN $1 AND $2 GROUP BY run",
        |run, row| {
            run.cases = row.count(1)?;
            Ok(())
        },
    ),
    (
        "SELECT run, count(*) FROM skipped WHERE run BETWEEN $1 AND $2 GROUP BY run",
        |run, row| {
            run.skipped = row.count(1)?;
            Ok(())
        },
    ),
    (
        "SELECT run, placements, windows_valid, windows_void, label FROM live_runs
         WHERE run BETWEEN $1 AND $2 ORDER BY run",
        |run, row| {
            run.cases = row.count(1)?;
            run.trials_valid = row.count(2)?;
            run.trials_invalid = row.count(3)?;
            run.label = row.optional_text(4)?.map(str::to_owned);
            Ok(())
        },
    ),
];

type AddRow = fn(&mut RunHeader, &Row<'_>) -> Result<(), Error>;

/// The runs of which a query tells which and in which order, without what is counted.
fn headers(
    transaction: &Transaction<'_>,
    which: &str,
    values: &[Value<'_>],
) -> Result<Vec<(RunNumber, RunHeader)>, Error> {
    let sql = format!(
        "SELECT number, id, experiment, started_at, status, host, emulated FROM runs {which}"
    );
    transaction.all(&sql, values, |row| {
        let status = read_status(transaction.place(), row.text(4)?)?;
        Ok((RunNumber(row.get(0)?), header(row, status)?))
    })
}

fn header(row: &Row<'_>, status: RunStatus) -> Result<RunHeader, Error> {
    let emulated: Option<i64> = row.get(6)?;
    Ok(RunHeader {
        id: row.text(1)?.to_owned(),
        experiment: row.text(2)?.to_owned(),
        label: None,
        started_at: row.text(3)?.to_owned(),
        status,
        host: row.optional_text(5)?.map(str::to_owned),
        emulated: emulated.map(|it| it != 0),
        cases: 0,
        skipped: 0,
        trials_valid: 0,
        trials_invalid: 0,
        trials_failed: 0,
    })
}

/// Counts what belongs to these runs, by descending number, in one pass over what belongs to them
/// and those between.
fn count_all(
    transaction: &Transaction<'_>,
    runs: &mut [(RunNumber, RunHeader)],
) -> Result<(), Error> {
    let mut counts = COUNTS.iter();
    counts.try_for_each(|(sql, add)| count(transaction, runs, sql, *add))
}

/// Adds the rows of `sql`, which start with the number of their run, from the oldest run on.
fn count(
    transaction: &Transaction<'_>,
    runs: &mut [(RunNumber, RunHeader)],
    sql: &str,
    add: AddRow,
) -> Result<(), Error> {
    let (Some((oldest, _)), Some((newest, _))) = (runs.last(), runs.first()) else {
        return Ok(());
    };
    let between = [oldest.0.into(), newest.0.into()];
    let mut place = Err(0);
    transaction.each(sql, &between, |row| {
        let of: i64 = row.get(0)?;
        // Rows of a run follow each other.
        if !place.is_ok_and(|place: usize| runs[place].0.0 == of) {
            place = runs.binary_search_by(|(number, _)| of.cmp(&number.0));
        }
        match place {
            Ok(place) => add(&mut runs[place].1, row),
            Err(_) => Ok(()),
        }
    })
}

/// The run without its cases.
fn read_run(transaction: &Transaction<'_>, number: RunNumber) -> Result<Run, Error> {
    const SQL: &str = "
        SELECT id, format, experiment, question, definition, started_at, status, seed, metric,
            baseline, asks_about_memory, window_s, machine, calibration
        FROM runs WHERE number = $1";
    let place = transaction.place();
    let wrong_seed = |seed: &str| damaged(place, format!("expected a seed, found {seed:?}"));
    let run = transaction.first(SQL, &[number.0.into()], |row| {
        RUN.check_format(place, row.text(1)?)?;
        let text = |column| row.text(column).map(str::to_owned);
        let seed = row.text(7)?;
        let machine = row.optional_text(12)?;
        let calibration = row.optional_text(13)?;
        Ok(Run {
            id: text(0)?,
            experiment: text(2)?,
            question: text(3)?,
            definition: text(4)?,
            started_at: text(5)?,
            status: read_status(place, row.text(6)?)?,
            machine: machine.map(|text| MACHINE.read(place, text)).transpose()?,
            seed: seed.parse().map_err(|_| wrong_seed(seed))?,
            metric: read_metric(place, row.text(8)?)?,
            baseline: text(9)?,
            asks_about_memory: row.get::<i64>(10)? != 0,
            window_s: row.get(11)?,
            calibration: calibration
                .map(|text| CALIBRATION.read(place, text))
                .transpose()?,
            cases: Vec::new(),
            skipped: Vec::new(),
        })
    })?;
    run.ok_or_else(|| damaged(place, "a run vanished while it was read".to_string()))
}

/// The cases with their trials.
fn read_cases(transaction: &Transaction<'_>, run: RunNumber) -> Result<Vec<Case>, Error> {
    const CASES: &str = "SELECT position, plan FROM cases WHERE run = $1 ORDER BY position";
    const TRIALS: &str = "SELECT case_position, trial FROM trials WHERE run = $1 ORDER BY number";
    let place = transaction.place();
    let missing = |case: usize| damaged(place, format!("case {case} of a run is missing"));
    let mut cases: Vec<Case> = Vec::new();
    transaction.each(CASES, &[run.0.into()], |row| {
        if row.count(0)? as usize != cases.len() {
            return Err(missing(cases.len()));
        }
        cases.push(Case {
            plan: CASE.read(place, row.text(1)?)?,
            trials: Vec::new(),
        });
        Ok(())
    })?;
    transaction.each(TRIALS, &[run.0.into()], |row| {
        let position = row.count(0)? as usize;
        let case = cases.get_mut(position).ok_or_else(|| missing(position))?;
        case.trials.push(TRIAL.read(place, row.text(1)?)?);
        Ok(())
    })?;
    Ok(cases)
}

fn read_skipped(transaction: &Transaction<'_>, run: RunNumber) -> Result<Vec<Skipped>, Error> {
    const SQL: &str = "SELECT case_name, reason FROM skipped WHERE run = $1 ORDER BY position";
    transaction.all(SQL, &[run.0.into()], |row| {
        Ok(Skipped {
            case: row.text(0)?.to_owned(),
            reason: row.text(1)?.to_owned(),
        })
    })
}

pub(crate) fn read_status(place: &Place, word: &str) -> Result<RunStatus, Error> {
    RunStatus::of_name(word)
        .ok_or_else(|| damaged(place, format!("expected a status, found {word:?}")))
}

fn read_metric(place: &Place, name: &str) -> Result<Metric, Error> {
    Metric::named(name).ok_or_else(|| damaged(place, format!("expected a metric, found {name:?}")))
}
