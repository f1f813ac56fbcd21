//! What a rule says about a place in the repository.

use std::fmt;
use std::path::{Path, PathBuf};

/// One violation: where, which rule, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    /// The file, relative to the root of the repository.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
    /// The name of the rule.
    pub rule: &'static str,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Finding {
    /// Creates a finding at a line of a file.
    pub(super) fn new(
        file: &Path,
        line: usize,
        rule: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            file: file.to_path_buf(),
            line,
            rule,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            rule,
            message,
        } = self;
        write!(formatter, "{}:{line}: {rule}: {message}", file.display())
    }
}
