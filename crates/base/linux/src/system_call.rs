//! The error of a system call.

use std::io;

/// A system call failed.
#[derive(Debug, thiserror::Error)]
#[error("{call}({arguments}): {cause}")]
pub struct SystemCallError {
    /// Name of the call, as in its manual page.
    pub call: &'static str,
    /// The arguments that matter to the reader.
    pub arguments: String,
    /// The kernel's answer.
    #[source]
    pub cause: io::Error,
}

impl SystemCallError {
    /// The error of `call`, with the `errno` of the calling thread.
    pub fn last(call: &'static str, arguments: impl Into<String>) -> Self {
        SystemCallError {
            call,
            arguments: arguments.into(),
            cause: io::Error::last_os_error(),
        }
    }

    /// The error of `call` with an `errno` already at hand.
    pub fn with(call: &'static str, arguments: impl Into<String>, cause: io::Error) -> Self {
        SystemCallError {
            call,
            arguments: arguments.into(),
            cause,
        }
    }

    /// The error number, if the kernel gave one.
    pub fn errno(&self) -> Option<i32> {
        self.cause.raw_os_error()
    }

    /// Whether the kernel refused for lack of permission (`EPERM`, `EACCES`).
    pub fn is_permission(&self) -> bool {
        matches!(self.errno(), Some(libc::EPERM | libc::EACCES))
    }
}
