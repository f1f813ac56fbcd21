//! Runs of live windows: a row of `runs`, so that one list, one order and one set of ids hold for
//! all runs, and a row of `live_runs` with what was measured.

use model::{LiveMeasured, LiveRun};

use crate::database::{Row, Transaction, new_uid};
use crate::document::{Document, LIVE, LIVE_2, MACHINE};
use crate::error::damaged;
use crate::load::read_status;
use crate::record::{RunNumber, insert_row};
use crate::{Error, Store};

impl Store {
    /// Stores a run of live windows, or a newer state of it, in one transaction.
    pub fn put_live(&mut self, run: &LiveRun) -> Result<(), Error> {
        const KNOWN: &str = "SELECT run FROM live_runs JOIN runs ON run = number WHERE id = $1";
        let machine = MACHINE.write(&run.machine)?;
        let measured = document_of(run).write(&run.measured)?;
        let uid = new_uid()?;
        self.write(|transaction| {
            let known = transaction.first(KNOWN, &[(&run.id).into()], |row| row.get(0))?;
            let number = match known {
                Some(number) => RunNumber(number),
                None => insert_header(transaction, run, &machine, &uid)?,
            };
            write_measured(transaction, run, number, &measured)
        })
    }
}

/// The document of a run: version 1 wherever that can hold it, so that older versions of numalab
/// read it.
fn document_of(run: &LiveRun) -> &'static Document {
    match run.measured {
        LiveMeasured::Try(_) | LiveMeasured::Record(_) => &LIVE,
        LiveMeasured::Doctor(_) => &LIVE_2,
    }
}

fn insert_header(
    transaction: &Transaction<'_>,
    run: &LiveRun,
    machine: &str,
    uid: &str,
) -> Result<RunNumber, Error> {
    // What only an experiment has is empty.
    insert_row(
        transaction,
        &run.id,
        &[
            ("format", document_of(run).format().into()),
            ("experiment", run.title().into()),
            ("question", "".into()),
            ("definition", "".into()),
            ("started_at", (&run.started_at).into()),
            ("status", run.status.name().into()),
            ("seed", run.seed().to_string().into()),
            ("metric", "".into()),
            ("baseline", "".into()),
            ("asks_about_memory", false.into()),
            ("window_s", run.window_s().into()),
            ("host", (&run.machine.host).into()),
            ("emulated", run.machine.emulated.into()),
            ("machine", machine.into()),
            ("uid", uid.into()),
        ],
    )
}

fn write_measured(
    transaction: &Transaction<'_>,
    run: &LiveRun,
    number: RunNumber,
    measured: &str,
) -> Result<(), Error> {
    let (valid, void) = run.windows();
    transaction.execute(
        "INSERT INTO live_runs (run, label, placements, windows_valid, windows_void, measured)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (run) DO UPDATE SET label = excluded.label,
             placements = excluded.placements, windows_valid = excluded.windows_valid,
             windows_void = excluded.windows_void, measured = excluded.measured",
        &[
            number.0.into(),
            run.label.as_ref().into(),
            run.placements().into(),
            valid.into(),
            void.into(),
            measured.into(),
        ],
    )?;
    transaction.execute(
        "UPDATE runs SET status = $1, window_s = $2 WHERE number = $3",
        &[
            run.status.name().into(),
            run.window_s().into(),
            number.0.into(),
        ],
    )?;
    Ok(())
}

/// The run of live windows with this number; `None` if it is one of an experiment.
pub(crate) fn read(
    transaction: &Transaction<'_>,
    number: RunNumber,
) -> Result<Option<LiveRun>, Error> {
    const SQL: &str = "SELECT id, label, started_at, status, machine, measured
         FROM live_runs JOIN runs ON run = number WHERE run = $1";
    let place = transaction.place();
    let none = || damaged(place, "a live run has no machine".to_owned());
    transaction.first(SQL, &[number.0.into()], |row: &Row<'_>| {
        Ok(LiveRun {
            id: row.text(0)?.to_owned(),
            label: row.optional_text(1)?.map(str::to_owned),
            started_at: row.text(2)?.to_owned(),
            status: read_status(place, row.text(3)?)?,
            machine: MACHINE.read(place, row.optional_text(4)?.ok_or_else(none)?)?,
            measured: LIVE_2.read(place, row.text(5)?)?,
        })
    })
}
