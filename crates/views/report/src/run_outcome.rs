//! How a trial stands: one reading of its outcome for documents, counts and texts.

use model::{Outcome, Trial};

/// Whether a trial counts, in the words of the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing<'t> {
    /// It counts.
    Valid,
    /// It ran and does not count.
    Invalid(&'t str),
    /// It did not run to its end.
    Failed(&'t str),
}

impl<'t> Standing<'t> {
    /// The standing of a trial. One that is called valid and measured nothing did not count.
    pub(crate) fn of(trial: &'t Trial) -> Self {
        match (&trial.outcome, trial.valid_value()) {
            (Outcome::Valid, Some(_)) => Standing::Valid,
            (Outcome::Valid, None) => Standing::Failed("it measured nothing"),
            (Outcome::Invalid(reason), _) => Standing::Invalid(reason),
            (Outcome::Failed(reason), _) => Standing::Failed(reason),
        }
    }

    /// Whether it counts.
    pub(crate) fn is_valid(self) -> bool {
        self == Standing::Valid
    }

    /// The word in documents and texts.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Standing::Valid => "valid",
            Standing::Invalid(_) => "invalid",
            Standing::Failed(_) => "failed",
        }
    }

    /// Why it does not count.
    pub(crate) fn reason(self) -> Option<&'t str> {
        match self {
            Standing::Valid => None,
            Standing::Invalid(reason) | Standing::Failed(reason) => Some(reason),
        }
    }
}
