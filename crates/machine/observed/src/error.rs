//! The one kind of error: what was asked, and why there is no answer.

use std::io;

/// What others did not do, and why.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {cause}")]
pub struct Error {
    /// What was asked, such as `connecting to /run/s`.
    pub what: String,
    /// The answer of the operating system; `TimedOut` where a limit in time was reached.
    pub cause: io::Error,
}

impl Error {
    pub(crate) fn of(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |cause| Error { what, cause }
    }
}
