//! Records a run while it is made: the observer that turns events into transactions.

use model::{Event, Observer, ObserverError};

use crate::record::RunNumber;
use crate::{Error, Store};

/// Keeps each trial of a run as soon as it has ended.
#[derive(Debug)]
pub struct RunRecorder<'s> {
    store: &'s mut Store,
    /// The run that is being recorded; `None` before it started and after it ended.
    recording: Option<RunNumber>,
}

impl<'s> RunRecorder<'s> {
    /// A recorder that waits for a run to start.
    pub fn new(store: &'s mut Store) -> Self {
        RunRecorder {
            store,
            recording: None,
        }
    }

    /// Writes what an event says, if it is worth keeping. When this returns, it is kept.
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
