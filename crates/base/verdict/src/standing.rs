//! The standing of a trial: the single interpretation of its outcome for documents, counts and
//! texts.

use model::{Outcome, Trial};

/// Whether a trial counts, in the terms of the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing<'t> {
    /// It counts.
    Valid,
    /// It ran but does not count.
    Invalid(&'t str),
    /// It did not finish.
    Failed(&'t str),
}

impl<'t> Standing<'t> {
    /// Returns the standing of a trial. A trial marked valid that measured nothing counts as
    /// failed.
    pub fn of(trial: &'t Trial) -> Self {
        match (&trial.outcome, trial.valid_value()) {
            (Outcome::Valid, Some(_)) => Standing::Valid,
            (Outcome::Valid, None) => Standing::Failed("it measured nothing"),
            (Outcome::Invalid(reason), _) => Standing::Invalid(reason),
            (Outcome::Failed(reason), _) => Standing::Failed(reason),
        }
    }

    /// Returns whether it counts.
    pub fn is_valid(self) -> bool {
        self == Standing::Valid
    }

    /// Returns the word used in documents and texts.
    pub fn word(self) -> &'static str {
        match self {
            Standing::Valid => "valid",
            Standing::Invalid(_) => "invalid",
            Standing::Failed(_) => "failed",
        }
    }

    /// Returns why it does not count.
    pub fn reason(self) -> Option<&'t str> {
        match self {
            Standing::Valid => None,
            Standing::Invalid(reason) | Standing::Failed(reason) => Some(reason),
        }
    }
}
