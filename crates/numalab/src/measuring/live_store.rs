//! A run of live windows in the store: begun before anything is measured, so that a store that
//! cannot be written is known at once.

use jiff::Zoned;
use model::{LiveMeasured, LiveRun, RunStatus};
use store::Store;

use crate::failure::Failure;
use crate::measuring::machine;
use crate::measuring::run_id;

/// A stored run that is being measured.
pub(crate) struct LiveStore {
    store: Store,
    run: LiveRun,
}

impl LiveStore {
    /// Stores the begin of a run.
    pub(crate) fn begin(
        store: Store,
        label: Option<&str>,
        measured: LiveMeasured,
    ) -> Result<Self, Failure> {
        let mut store = store;
        let now = Zoned::now();
        let run = LiveRun {
            id: run_id::claim(&mut store, &now)?,
            label: label.map(str::to_owned),
            started_at: run_id::rfc_3339(&now),
            status: RunStatus::Unfinished,
            machine: machine::record_of(machine::live_topology()?),
            measured,
        };
        store.put_live(&run)?;
        Ok(LiveStore { store, run })
    }

    /// Stores what there is now.
    pub(crate) fn put(&mut self, status: RunStatus, measured: LiveMeasured) -> Result<(), Failure> {
        self.run.status = status;
        self.run.measured = measured;
        Ok(self.store.put_live(&self.run)?)
    }

    /// The run as it was stored last.
    pub(crate) fn run(&self) -> &LiveRun {
        &self.run
    }
}
