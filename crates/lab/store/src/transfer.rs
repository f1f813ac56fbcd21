//! Sends runs from one store to another: rows as they are, each run once, whoever sends it how
//! often. A `uid` tells which run it is.

use std::collections::BTreeMap;

use crate::database::{Row, Transaction, Value};
use crate::lookup::{Wanted, find};
use crate::record::{RunNumber, claim, insert_row};
use crate::stored::read;
use crate::{Error, Store};

/// So many runs are asked for at once.
const ASKED_AT_ONCE: usize = 500;
/// So many rows are inserted at once; documents of trials may be long.
const ROWS_AT_ONCE: usize = 32;
/// An id that another run has in the other store gets the first free number up to this.
const NUMBERS: std::ops::Range<u32> = 2..10_000;

/// The columns of `runs` beside `number` and `id`.
const OF_RUN: [&str; 16] = [
    "format",
    "experiment",
    "question",
    "definition",
    "started_at",
    "status",
    "seed",
    "metric",
    "baseline",
    "asks_about_memory",
    "window_s",
    "host",
    "emulated",
    "machine",
    "calibration",
    "uid",
];
/// The tables of what belongs to a run: name, order, and columns beside the run. Trials are last,
/// since they refer to cases.
const PARTS: [(&str, &str, &[&str]); 4] = [
    ("cases", "position", &["position", "name", "plan"]),
    ("skipped", "position", &["position", "case_name", "reason"]),
    (
        "live_runs",
        "run",
        &[
            "label",
            "placements",
            "windows_valid",
            "windows_void",
            "measured",
        ],
    ),
    (
        "trials",
        "number",
        &[
            "case_position",
            "round",
            "outcome",
            "reason",
            "value",
            "trial",
        ],
    ),
];
/// Of each run: which it is, and how far it is. `WHERE` follows.
const STATES: &str = "
    SELECT number, id, uid, status,
        (SELECT count(*) FROM trials WHERE run = number)
        + coalesce((SELECT windows_valid + windows_void FROM live_runs WHERE run = number), 0)
    FROM runs";

/// A run of a store that can be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    number: i64,
    /// Its id in this store.
    pub id: String,
    uid: String,
    state: RunState,
}

/// How far a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RunState {
    status: String,
    /// Trials or windows.
    measured: i64,
}

impl RunState {
    /// Whether this is a later state than that of the other store: a run that has ended stays.
    fn is_later_than(&self, other: &RunState) -> bool {
        other.status == "unfinished"
            && (self.status != other.status || self.measured > other.measured)
    }
}

/// What became of a run that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It is there now.
    New,
    /// It was there while it was being measured; now it is there as it has ended, or with more.
    Updated,
    /// It was there already.
    Known,
}

/// A run as it is sent.
struct Parcel {
    run: Vec<Value<'static>>,
    parts: Vec<Vec<Vec<Value<'static>>>>,
}

impl Store {
    /// Every run that can be sent, oldest first. `is_complete`: without those that are being
    /// measured, or were killed while they were.
    pub fn runs(&self, is_complete: bool) -> Result<Vec<StoredRun>, Error> {
        let which = match is_complete {
            true => "WHERE status <> 'unfinished' ORDER BY number",
            false => "ORDER BY number",
        };
        self.read(|transaction| states(transaction, which, &[]))
    }

    /// The run that is asked for as with [`Store::load_any`].
    pub fn run(&self, asked: &str) -> Result<StoredRun, Error> {
        self.read(|transaction| {
            let number = find(transaction, asked, Wanted::Any)?;
            let found = states(transaction, "WHERE number = $1", &[number.0.into()])?;
            let place = transaction.place().clone();
            found.into_iter().next().ok_or(Error::NoRuns { place })
        })
    }

    /// Tells which of these runs of another store have yet to be sent to this one.
    pub fn lacks<'r>(&self, runs: &'r [StoredRun]) -> Result<Vec<&'r StoredRun>, Error> {
        let mut known: BTreeMap<String, RunState> = BTreeMap::new();
        for some in runs.chunks(ASKED_AT_ONCE) {
            let places: Vec<String> = (1..=some.len()).map(|it| format!("${it}")).collect();
            let which = format!("WHERE uid IN ({})", places.join(", "));
            let uids: Vec<Value<'_>> = some.iter().map(|run| (&run.uid).into()).collect();
            let found = self.read(|transaction| states(transaction, &which, &uids))?;
            known.extend(found.into_iter().map(|run| (run.uid, run.state)));
        }
        let is_later = |run: &&StoredRun| {
            let state = known.get(&run.uid);
            state.is_none_or(|state| run.state.is_later_than(state))
        };
        Ok(runs.iter().filter(is_later).collect())
    }

    /// Sends a run to another store, in one transaction there. Returns also its id there: another
    /// run may have that of this store.
    ///
    /// # Errors
    /// When the run cannot be read, since what cannot be read must not spread, or not written.
    pub fn send(&self, run: &StoredRun, to: &mut Store) -> Result<(Sent, String), Error> {
        let parcel = self.read(|transaction| pack(transaction, run))?;
        let mut unpack = || to.write(|transaction| unpack(transaction, run, &parcel));
        match unpack() {
            // Another process sent the same run at the same time: it is there now.
            Err(Error::IdTaken { .. }) => unpack(),
            sent => sent,
        }
    }
}

fn states(
    transaction: &Transaction<'_>,
    which: &str,
    values: &[Value<'_>],
) -> Result<Vec<StoredRun>, Error> {
    transaction.all(&format!("{STATES} {which}"), values, |row: &Row<'_>| {
        Ok(StoredRun {
            number: row.get(0)?,
            id: row.text(1)?.to_owned(),
            uid: row.text(2)?.to_owned(),
            state: RunState {
                status: row.text(3)?.to_owned(),
                measured: row.get(4)?,
            },
        })
    })
}

fn pack(transaction: &Transaction<'_>, run: &StoredRun) -> Result<Parcel, Error> {
    read(transaction, RunNumber(run.number))?;
    let number = [run.number.into()];
    let row_of = |columns: usize| {
        move |row: &Row<'_>| (0..columns).map(|column| row.value(column)).collect()
    };
    let sql = format!("SELECT {} FROM runs WHERE number = $1", OF_RUN.join(", "));
    let row: Option<Vec<_>> = transaction.first(&sql, &number, row_of(OF_RUN.len()))?;
    let parts = PARTS.iter().map(|(table, order, columns)| {
        let names = columns.join(", ");
        let sql = format!("SELECT {names} FROM {table} WHERE run = $1 ORDER BY {order}");
        transaction.all(&sql, &number, row_of(columns.len()))
    });
    let parts = parts.collect::<Result<_, Error>>()?;
    let gone = || Error::NoRuns {
        place: transaction.place().clone(),
    };
    Ok(Parcel {
        run: row.ok_or_else(gone)?,
        parts,
    })
}

fn unpack(
    transaction: &Transaction<'_>,
    run: &StoredRun,
    parcel: &Parcel,
) -> Result<(Sent, String), Error> {
    // Whoever sends the same run waits here for the end of the first who does.
    let hold = "UPDATE runs SET uid = uid WHERE uid = $1";
    transaction.execute(hold, &[(&run.uid).into()])?;
    let known = states(transaction, "WHERE uid = $1", &[(&run.uid).into()])?;
    match known.into_iter().next() {
        None => insert(transaction, run, parcel),
        Some(known) if run.state.is_later_than(&known.state) => {
            replace(transaction, &known, parcel).map(|()| (Sent::Updated, known.id))
        }
        Some(known) => Ok((Sent::Known, known.id)),
    }
}

fn insert(
    transaction: &Transaction<'_>,
    run: &StoredRun,
    parcel: &Parcel,
) -> Result<(Sent, String), Error> {
    let others = NUMBERS.map(|number| format!("{}-{number}", run.id));
    let id = claim(transaction, std::iter::once(run.id.clone()).chain(others))?;
    let columns = OF_RUN.into_iter().zip(parcel.run.iter().cloned());
    let columns: Vec<_> = columns.collect();
    let number = insert_row(transaction, &id, &columns)?;
    insert_parts(transaction, number, parcel).map(|()| (Sent::New, id))
}

/// Replaces what is known of a run that had not ended.
fn replace(transaction: &Transaction<'_>, known: &StoredRun, parcel: &Parcel) -> Result<(), Error> {
    let number = || [known.number.into()];
    for (table, _, _) in PARTS.iter().rev() {
        transaction.execute(&format!("DELETE FROM {table} WHERE run = $1"), &number())?;
    }
    let set = OF_RUN.iter().enumerate();
    let set: Vec<String> = set
        .map(|(index, name)| format!("{name} = ${}", index + 1))
        .collect();
    let last = OF_RUN.len() + 1;
    let sql = format!("UPDATE runs SET {} WHERE number = ${last}", set.join(", "));
    let values: Vec<_> = parcel.run.iter().cloned().chain(number()).collect();
    transaction.execute(&sql, &values)?;
    insert_parts(transaction, RunNumber(known.number), parcel)
}

fn insert_parts(
    transaction: &Transaction<'_>,
    number: RunNumber,
    parcel: &Parcel,
) -> Result<(), Error> {
    for ((table, _, columns), rows) in PARTS.iter().zip(&parcel.parts) {
        for some in rows.chunks(ROWS_AT_ONCE) {
            let width = columns.len() + 1;
            let row_places = |row: usize| {
                let places = (1..=width).map(|column| format!("${}", row * width + column));
                format!("({})", places.collect::<Vec<_>>().join(", "))
            };
            let places: Vec<String> = (0..some.len()).map(row_places).collect();
            let sql = format!(
                "INSERT INTO {table} (run, {}) VALUES {}",
                columns.join(", "),
                places.join(", ")
            );
            let mut values: Vec<Value<'_>> = Vec::new();
            for row in some {
                values.push(number.0.into());
                values.extend(row.iter().cloned());
            }
            transaction.execute(&sql, &values)?;
        }
    }
    Ok(())
}
