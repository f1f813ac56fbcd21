//! What a check found.

use model::{Fact, Severity, ShellLine};

/// What a check found: the parts of a finding that its row does not have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// The severity, where it differs from that of the row.
    pub severity: Option<Severity>,
    /// One sentence with its figures.
    pub message: String,
    /// The facts it is based on.
    pub evidence: Vec<Fact>,
    /// Commands that fix it.
    pub fix: Vec<ShellLine>,
}

impl Found {
    /// Only a sentence.
    pub(crate) fn that(message: String) -> Self {
        Found {
            message,
            ..Found::default()
        }
    }

    /// The same, less severe than the row says.
    pub(crate) fn for_information(self) -> Self {
        Found {
            severity: Some(Severity::Info),
            ..self
        }
    }
}

/// A fact and its source.
pub(crate) fn fact(source: impl Into<String>, value: impl ToString) -> Fact {
    Fact {
        source: source.into(),
        value: value.to_string(),
    }
}

/// Commands.
pub(crate) fn commands(lines: &[&'static str]) -> Vec<ShellLine> {
    lines.iter().map(|line| ShellLine::of(line)).collect()
}
