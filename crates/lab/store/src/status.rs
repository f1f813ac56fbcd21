//! The stored names of run statuses and trial outcomes.

use model::{Outcome, RunStatus};

const STATUSES: [(RunStatus, &str); 6] = [
    (RunStatus::Unfinished, "unfinished"),
    (RunStatus::Settled, "settled"),
    (RunStatus::Bounded, "bounded"),
    (RunStatus::Interrupted, "interrupted"),
    (RunStatus::Failed, "failed"),
    (RunStatus::Imported, "imported"),
];

/// The stored name of a status.
pub(crate) fn status_word(status: RunStatus) -> &'static str {
    let row = STATUSES.iter().find(|(known, _)| *known == status);
    row.expect("the table has a row for every variant").1
}

/// The status with this stored name.
pub(crate) fn status_of(word: &str) -> Option<RunStatus> {
    let row = STATUSES.iter().find(|(_, known)| *known == word);
    row.map(|(status, _)| *status)
}

/// The stored name of an outcome, and its reason.
pub(crate) fn outcome_words(outcome: &Outcome) -> (&'static str, Option<&str>) {
    match outcome {
        Outcome::Valid => ("valid", None),
        Outcome::Invalid(reason) => ("invalid", Some(reason)),
        Outcome::Failed(reason) => ("failed", Some(reason)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_statuses_are_inverse() {
        for (status, word) in STATUSES {
            assert_eq!(status_word(status), word);
            assert_eq!(status_of(word), Some(status));
        }
        assert_eq!(status_of("done"), None);
    }
}
