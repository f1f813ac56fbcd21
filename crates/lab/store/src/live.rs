//! Runs of live windows: a row of `runs`, so that one list, one order and one set of ids hold for
//! all runs, and a row of `live_runs` with what was measured.

use std::path::Path;

use model::LiveRun;
use rusqlite::{Connection, OptionalExtension, Transaction, named_params, params};

use crate::document::{LIVE, MACHINE};
use crate::load::{damaged, read_status};
use crate::record::{RunNumber, inserted};
use crate::schema::status_word;
use crate::{Error, Store};

impl Store {
    /// Stores a run of live windows, or a newer state of it, in one transaction.
    pub fn put_live(&mut self, run: &LiveRun) -> Result<(), Error> {
        let machine = MACHINE.write(&run.machine)?;
        let measured = LIVE.write(&run.measured)?;
        let path = self.path.clone();
        self.in_transaction(|transaction| {
            let known = transaction.query_row(
                "SELECT run FROM live_runs JOIN runs ON run = number WHERE id = ?",
                [&run.id],
                |row| row.get(0),
            );
            let known = known
                .optional()
                .map_err(|cause| Error::sqlite(&path, cause))?;
            let number = match known {
                Some(number) => RunNumber(number),
                None => insert_row(transaction, &path, run, &machine)?,
            };
            write_measured(transaction, run, number, &measured)
                .map_err(|cause| Error::sqlite(&path, cause))
        })
    }
}

fn insert_row(
    transaction: &Transaction<'_>,
    path: &Path,
    run: &LiveRun,
    machine: &str,
) -> Result<RunNumber, Error> {
    // What only an experiment has is empty.
    let done = transaction.execute(
        "INSERT INTO runs (id, format, experiment, question, definition, started_at, status,
             seed, metric, baseline, asks_about_memory, window_s, host, emulated, machine)
         VALUES (:id, :format, :experiment, '', '', :started_at, :status,
             :seed, '', '', 0, :window_s, :host, :emulated, :machine)",
        named_params! {
            ":id": run.id,
            ":format": LIVE.format(),
            ":experiment": run.title(),
            ":started_at": run.started_at,
            ":status": status_word(run.status),
            ":seed": run.seed().to_string(),
            ":window_s": run.window_s(),
            ":host": run.machine.host,
            ":emulated": run.machine.emulated,
            ":machine": machine,
        },
    );
    inserted(transaction, path, &run.id, done)
}

fn write_measured(
    transaction: &Transaction<'_>,
    run: &LiveRun,
    number: RunNumber,
    measured: &str,
) -> rusqlite::Result<()> {
    let (valid, void) = run.windows();
    transaction.execute(
        "INSERT OR REPLACE INTO live_runs
             (run, label, placements, windows_valid, windows_void, measured)
         VALUES (?, ?, ?, ?, ?, ?)",
        params![number.0, run.label, run.placements(), valid, void, measured],
    )?;
    transaction.execute(
        "UPDATE runs SET status = ?, window_s = ? WHERE number = ?",
        params![status_word(run.status), run.window_s(), number.0],
    )?;
    Ok(())
}

/// The run of live windows with this number; `None` if it is one of an experiment.
pub(crate) fn read(
    path: &Path,
    connection: &Connection,
    number: RunNumber,
) -> Result<Option<LiveRun>, Error> {
    let failed = |cause| Error::sqlite(path, cause);
    let mut statement = connection
        .prepare(
            "SELECT id, label, started_at, status, machine, measured
             FROM live_runs JOIN runs ON run = number WHERE run = ?",
        )
        .map_err(failed)?;
    let mut rows = statement.query([number.0]).map_err(failed)?;
    let Some(row) = rows.next().map_err(failed)? else {
        return Ok(None);
    };
    let text = |column: &str| row.get::<_, String>(column).map_err(failed);
    let machine: Option<String> = row.get("machine").map_err(failed)?;
    let machine = machine.ok_or_else(|| damaged(path, "a live run has no machine".to_owned()))?;
    Ok(Some(LiveRun {
        id: text("id")?,
        label: row.get("label").map_err(failed)?,
        started_at: text("started_at")?,
        status: read_status(path, &text("status")?)?,
        machine: MACHINE.read(path, &machine)?,
        measured: LIVE.read(path, &text("measured")?)?,
    }))
}
