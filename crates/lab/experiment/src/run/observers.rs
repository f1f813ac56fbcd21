//! Notifies the observers of a run.

use model::{Event, Observer, ObserverError};

/// The observers of a run.
pub(crate) struct Observers<'o, 'b> {
    list: &'o mut [&'b mut dyn Observer],
}

impl<'o, 'b> Observers<'o, 'b> {
    pub(crate) fn new(list: &'o mut [&'b mut dyn Observer]) -> Self {
        Observers { list }
    }

    /// Notifies every observer, even after one has failed, and returns the first failure.
    pub(crate) fn tell(&mut self, event: &Event<'_>) -> Result<(), ObserverError> {
        let mut outcome = Ok(());
        for observer in self.list.iter_mut() {
            outcome = outcome.and(observer.observe(event));
        }
        outcome
    }
}
