//! Why an experiment, or a case of one, cannot run on a machine.

use std::fmt;

use model::exit::ExitCode;

/// Why it cannot, and what can be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cannot {
    /// What is asked and what is there, as a lower-case fragment.
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
