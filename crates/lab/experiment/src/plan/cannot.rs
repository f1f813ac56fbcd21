//! Why an experiment, or a case of one, cannot run on a machine.

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
    /// One that this machine cannot run, and for which nobody can do anything.
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

/// Why it cannot, and what can be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cannot {
    /// What is asked and what is there, as a lower-case fragment of a few words.
    pub reason: String,
    /// How to get what is missing, as a lower-case fragment; empty where nobody can.
    pub advice: String,
    /// The exit code of a run that ends because of it.
    pub exit_code: ExitCode,
}

impl Cannot {
    /// This machine cannot.
    pub(crate) fn machine(reason: impl Into<String>, advice: impl Into<String>) -> Self {
        Cannot {
            reason: reason.into(),
            advice: advice.into(),
            exit_code: ExitCode::MachineCannot,
        }
    }

    /// The definition asks for something that does not fit together.
    pub(crate) fn usage(reason: impl Into<String>, advice: impl Into<String>) -> Self {
        Cannot {
            exit_code: ExitCode::Usage,
            ..Self::machine(reason, advice)
        }
    }

    /// A permission is missing.
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
