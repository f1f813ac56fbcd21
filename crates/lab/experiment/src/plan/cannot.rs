//! Reasons why an experiment, or one of its cases, cannot run on a machine.

use std::fmt;

use model::Skipped;
use model::exit::ExitCode;

/// A case that a machine cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedCase {
    /// Its name.
    pub case: String,
    /// Why.
    pub cannot: Cannot,
}

impl SkippedCase {
    /// Creates a skipped case for which there is no remedy on this machine.
    pub(crate) fn without_advice(case: String, reason: String) -> Self {
        let cannot = Cannot::machine(reason, "");
        SkippedCase { case, cannot }
    }
}

impl From<SkippedCase> for Skipped {
    fn from(skipped: SkippedCase) -> Self {
        Skipped {
            case: skipped.case,
            reason: skipped.cannot.to_string(),
        }
    }
}

/// The reason, and how to remedy it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cannot {
    /// What is needed and what is available, as a short lower-case fragment.
    pub reason: String,
    /// How to get what is missing, as a lower-case fragment; empty where there is no way.
    pub advice: String,
    /// The exit code of a run that ends because of it.
    pub exit_code: ExitCode,
}

impl Cannot {
    /// Returns a refusal because the machine cannot run it.
    pub(crate) fn machine(reason: impl Into<String>, advice: impl Into<String>) -> Self {
        Cannot {
            reason: reason.into(),
            advice: advice.into(),
            exit_code: ExitCode::MachineCannot,
        }
    }

    /// Returns a refusal because the definition is inconsistent.
    pub(crate) fn usage(reason: impl Into<String>, advice: impl Into<String>) -> Self {
        Cannot {
            exit_code: ExitCode::Usage,
            ..Self::machine(reason, advice)
        }
    }

    /// Returns a refusal because a permission is missing.
    pub(crate) fn not_permitted(reason: impl Into<String>, advice: impl Into<String>) -> Self {
        Cannot {
            exit_code: ExitCode::NotPermitted,
            ..Self::machine(reason, advice)
        }
    }
}

impl fmt::Display for Cannot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        if !self.advice.is_empty() {
            write!(f, "; {}", self.advice)?;
        }
        Ok(())
    }
}
