//! Records a run while it executes: the observer that turns events into transactions.

use model::{Event, Observer, ObserverError};

use crate::record::RunNumber;
use crate::{Error, Store};

/// Stores each trial of a run as soon as it has ended.
#[derive(Debug)]
pub struct RunRecorder<'s> {
    store: &'s mut Store,
    /// The run being recorded; `None` before its start and after its end.
    recording: Option<RunNumber>,
}

impl<'s> RunRecorder<'s> {
    /// A recorder waiting for a run to start.
    pub fn new(store: &'s mut Store) -> Self {
        RunRecorder {
            store,
            recording: None,
        }
    }

    /// Stores an event, if it is worth keeping. It is durable when this returns.
    pub fn record(&mut self, event: &Event<'_>) -> Result<(), Error> {
        match event {
            Event::RunStarted { run, .. } => {
                self.recording = Some(self.store.insert_run(run)?);
                Ok(())
            }
            Event::Calibrated(calibration) => {
                let run = self.recording("a calibration")?;
                self.store.set_calibration(run, calibration)
            }
            Event::TrialFinished {
                case_index, trial, ..
            } => {
                let run = self.recording("a trial")?;
                self.store.insert_trial(run, *case_index, trial)
            }
            Event::RunFinished { status } => {
                let run = self.recording("the end of a run")?;
                self.store.set_status(run, *status)?;
                self.recording = None;
                Ok(())
            }
            Event::CalibrationPoint(_)
            | Event::TrialStarted { .. }
            | Event::TrialProgress { .. } => Ok(()),
        }
    }

    fn recording(&self, what: &'static str) -> Result<RunNumber, Error> {
        self.recording.ok_or(Error::NotRecording { what })
    }
}

impl Observer for RunRecorder<'_> {
    fn observe(&mut self, event: &Event<'_>) -> Result<(), ObserverError> {
        self.record(event).map_err(|error| ObserverError {
            message: format!("{error}; {}", error.advice()),
        })
    }
}
