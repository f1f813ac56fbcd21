//! Loads a run that a user asks for, of an experiment or of live windows.

use model::{LiveRun, Run};

use crate::database::Transaction;
use crate::load::read_whole;
use crate::lookup::{Wanted, find};
use crate::record::RunNumber;
use crate::{Error, Store, live};

/// What a stored run is.
#[derive(Debug, Clone, PartialEq)]
pub enum Stored {
    /// A run of an experiment, or an imported one.
    Run(Box<Run>),
    /// A run of live windows.
    Live(Box<LiveRun>),
}

impl Store {
    /// Loads the run with this id, the only one whose id starts with this text, or for `last` the
    /// newest that has a trial. A run of live windows is an error: [`Store::load_any`] loads it,
    /// too.
    pub fn load(&self, asked: &str) -> Result<Run, Error> {
        match self.load_wanted(asked, Wanted::OfExperiment)? {
            Stored::Run(run) => Ok(*run),
            Stored::Live(live) => Err(Error::IsLive {
                title: live.title(),
                id: live.id,
            }),
        }
    }

    /// Loads a run as [`Store::load`] does, whatever it is; `last` is the newest with anything to
    /// show.
    pub fn load_any(&self, asked: &str) -> Result<Stored, Error> {
        self.load_wanted(asked, Wanted::Any)
    }

    /// Loads a run of live windows as [`Store::load`] does; `None` if it is one of an experiment.
    pub fn load_live(&self, asked: &str) -> Result<Option<LiveRun>, Error> {
        self.read(|transaction| {
            let number = find(transaction, asked, Wanted::OfExperiment)?;
            live::read(transaction, number)
        })
    }

    fn load_wanted(&self, asked: &str, wanted: Wanted) -> Result<Stored, Error> {
        self.read(|transaction| read(transaction, find(transaction, asked, wanted)?))
    }

    /// The runs of live windows with this label, oldest first.
    pub fn labelled(&self, label: &str) -> Result<Vec<LiveRun>, Error> {
        const SQL: &str = "SELECT run FROM live_runs WHERE label = $1 ORDER BY run";
        self.read(|transaction| {
            let numbers: Vec<i64> = transaction.all(SQL, &[label.into()], |row| row.get(0))?;
            let numbers = numbers.into_iter().map(RunNumber);
            let runs = numbers.map(|number| live::read(transaction, number).transpose());
            runs.flatten().collect()
        })
    }
}

/// Reads a run, whatever it is.
pub(crate) fn read(transaction: &Transaction<'_>, number: RunNumber) -> Result<Stored, Error> {
    match live::read(transaction, number)? {
        Some(live) => Ok(Stored::Live(Box::new(live))),
        None => read_whole(transaction, number).map(|run| Stored::Run(Box::new(run))),
    }
}
