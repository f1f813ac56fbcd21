//! Loads a run that a user asks for, of an experiment or of live windows.

use model::{LiveRun, Run};

use crate::lookup::Wanted;
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
        let failed = |cause| Error::sqlite(&self.path, cause);
        let transaction = self.connection.unchecked_transaction().map_err(failed)?;
        let number = self.find(&transaction, asked, Wanted::OfExperiment)?;
        live::read(&self.path, &transaction, number)
    }

    fn load_wanted(&self, asked: &str, wanted: Wanted) -> Result<Stored, Error> {
        let failed = |cause| Error::sqlite(&self.path, cause);
        // One transaction, for a consistent snapshot of a run that is being recorded.
        let transaction = self.connection.unchecked_transaction().map_err(failed)?;
        let number = self.find(&transaction, asked, wanted)?;
        if let Some(live) = live::read(&self.path, &transaction, number)? {
            return Ok(Stored::Live(Box::new(live)));
        }
        let run = self.read_whole(&transaction, number)?;
        Ok(Stored::Run(Box::new(run)))
    }

    /// The runs of live windows with this label, oldest first.
    pub fn labelled(&self, label: &str) -> Result<Vec<LiveRun>, Error> {
        let failed = |cause| Error::sqlite(&self.path, cause);
        let transaction = self.connection.unchecked_transaction().map_err(failed)?;
        let sql = "SELECT run FROM live_runs WHERE label = ? ORDER BY run";
        let mut statement = transaction.prepare(sql).map_err(failed)?;
        let rows = statement.query_map([label], |row| row.get(0));
        let numbers: Vec<i64> = rows.and_then(Iterator::collect).map_err(failed)?;
        let runs = numbers
            .into_iter()
            .map(|number| live::read(&self.path, &transaction, RunNumber(number)).transpose());
        runs.flatten().collect()
    }
}
