//! The machines that runs were made on: of each host what its newest runs say, one host at a time,
//! so that a store of thousands fits into little memory.

use model::{KeptDiagnosis, LiveMeasured, Machine, Metric};

use crate::database::{Row, Transaction};
use crate::document::{LIVE_2, MACHINE};
use crate::error::damaged;
use crate::record::RunNumber;
use crate::{Error, Store};

/// What the store knows of one host.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMachine {
    /// The machine, by the newest run that has one.
    pub machine: Machine,
    /// The id of that run.
    pub run: String,
    /// Its start, RFC 3339 with offset.
    pub started_at: String,
    /// What the doctor found last.
    pub kept: Option<KeptDiagnosis>,
    /// Of each experiment what its newest run measured, by the name of the experiment.
    pub measured: Vec<StoredFigures>,
}

/// What one run measured.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredFigures {
    /// The id of the run.
    pub run: String,
    /// The name of the experiment.
    pub experiment: String,
    /// The metric of its cases.
    pub metric: Metric,
    /// Its cases in order, each with the values of the trials that count.
    pub cases: Vec<(String, Vec<f64>)>,
}

/// The newest run of one experiment on one host.
struct Newest {
    number: RunNumber,
    id: String,
    experiment: String,
    started_at: String,
    metric: String,
    host: String,
}

/// Of each host and experiment the newest run that has ended and knows its machine.
const NEWEST: &str = "
    SELECT number, id, experiment, started_at, metric, host FROM runs
    WHERE number IN (
        SELECT max(number) FROM runs
        WHERE host IS NOT NULL AND machine IS NOT NULL AND status NOT IN ('unfinished', 'failed')
        GROUP BY host, experiment
    ) ORDER BY host, experiment";

impl Store {
    /// Calls `take` with each host of which a run is stored that has ended, in order of name.
    pub fn machines(
        &self,
        mut take: impl FnMut(StoredMachine) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // A transaction for each host: a server limits how long one may take, and no run that has
        // ended changes.
        let newest = self.read(|transaction| transaction.all(NEWEST, &[], newest))?;
        for runs in newest.chunk_by(|one, other| one.host == other.host) {
            take(self.read(|transaction| machine(transaction, runs))?)?;
        }
        Ok(())
    }
}

fn newest(row: &Row<'_>) -> Result<Newest, Error> {
    Ok(Newest {
        number: RunNumber(row.get(0)?),
        id: row.text(1)?.to_owned(),
        experiment: row.text(2)?.to_owned(),
        started_at: row.text(3)?.to_owned(),
        metric: row.text(4)?.to_owned(),
        host: row.text(5)?.to_owned(),
    })
}

fn machine(transaction: &Transaction<'_>, runs: &[Newest]) -> Result<StoredMachine, Error> {
    const SQL: &str = "SELECT machine FROM runs WHERE number = $1";
    let last = runs.iter().max_by_key(|run| run.number.0);
    let last = last.expect("a host is there by its runs");
    let place = transaction.place();
    let machine = transaction.first(SQL, &[last.number.0.into()], |row| {
        MACHINE.read(place, row.text(0)?)
    })?;
    let none = || damaged(place, "a run without its machine".to_owned());
    let mut stored = StoredMachine {
        machine: machine.ok_or_else(none)?,
        run: last.id.clone(),
        started_at: last.started_at.clone(),
        kept: None,
        measured: Vec::new(),
    };
    for run in runs {
        // Live windows have no metric of their own.
        match run.metric.is_empty() {
            true => stored.kept = kept(transaction, run)?.or(stored.kept),
            false => stored.measured.extend(figures(transaction, run)?),
        }
    }
    Ok(stored)
}

/// The diagnosis of a machine; of one with a target only what else it says is of the machine.
fn kept(transaction: &Transaction<'_>, run: &Newest) -> Result<Option<KeptDiagnosis>, Error> {
    const SQL: &str = "SELECT measured FROM live_runs WHERE run = $1";
    if run.experiment != "doctor" {
        return Ok(None);
    }
    let place = transaction.place();
    let measured = transaction.first(SQL, &[run.number.0.into()], |row| {
        LIVE_2.read(place, row.text(0)?)
    })?;
    Ok(match measured {
        Some(LiveMeasured::Doctor(kept)) => Some(*kept),
        _ => None,
    })
}

fn figures(transaction: &Transaction<'_>, run: &Newest) -> Result<Option<StoredFigures>, Error> {
    const CASES: &str = "SELECT position, name FROM cases WHERE run = $1 ORDER BY position";
    const VALUES: &str = "
        SELECT case_position, value FROM trials
        WHERE run = $1 AND outcome = 'valid' AND value IS NOT NULL
        ORDER BY case_position, number";
    let Some(metric) = Metric::named(&run.metric) else {
        return Ok(None);
    };
    let number = [run.number.0.into()];
    let mut places: Vec<i64> = Vec::new();
    let mut cases: Vec<(String, Vec<f64>)> = Vec::new();
    transaction.each(CASES, &number, |row| {
        places.push(row.get(0)?);
        cases.push((row.text(1)?.to_owned(), Vec::new()));
        Ok(())
    })?;
    transaction.each(VALUES, &number, |row| {
        if let Ok(place) = places.binary_search(&row.get(0)?) {
            cases[place].1.push(row.get(1)?);
        }
        Ok(())
    })?;
    Ok(Some(StoredFigures {
        run: run.id.clone(),
        experiment: run.experiment.clone(),
        metric,
        cases,
    }))
}
