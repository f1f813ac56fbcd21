//! How a run ended, in words.

use model::RunStatus;

use crate::form::style::Style;

/// How its name is shown.
pub(crate) fn style(status: RunStatus) -> Style {
    match status {
        RunStatus::Unfinished | RunStatus::Interrupted => Style::Care,
        RunStatus::Failed => Style::Bad,
        RunStatus::Settled | RunStatus::Bounded | RunStatus::Imported => Style::Usual,
    }
}

/// How it ended, for readers who do not know the terms.
pub(crate) fn ended(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Settled => "stopped when intervals were narrow",
        RunStatus::Bounded => "stopped at its trial or time limit",
        RunStatus::Unfinished => "not ended",
        named => named.name(),
    }
}

/// What kept a run from its end, as the start of a sentence.
pub(crate) fn broken_off(status: RunStatus) -> Option<&'static str> {
    match status {
        RunStatus::Interrupted => Some("the run was interrupted"),
        RunStatus::Unfinished => Some("the run has not ended"),
        RunStatus::Failed => Some("the run failed"),
        RunStatus::Settled | RunStatus::Bounded | RunStatus::Imported => None,
    }
}
