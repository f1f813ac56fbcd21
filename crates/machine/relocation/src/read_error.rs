//! Why memory could not be looked at.

use linux::{Error, SystemCallError};

use super::error::MoveError;

/// Why a stretch could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error(transparent)]
    Read(#[from] Error),
    #[error(transparent)]
    SystemCall(#[from] SystemCallError),
}

/// `ESRCH` (errno(3)).
const NO_SUCH_PROCESS: i32 = 3;
/// `EINVAL`: what move_pages(2) says of a process that has no memory any more and was not yet
/// reaped (mm/migrate.c, `find_mm_struct`). Our flags, its other cause, are valid.
const NO_MEMORY: i32 = 22;

impl ReadError {
    /// Whether a system call was refused because the process has ended.
    pub(super) fn from_call(error: &SystemCallError) -> bool {
        match error.errno() {
            Some(NO_SUCH_PROCESS) => true,
            Some(NO_MEMORY) => error.call == "move_pages",
            _ => false,
        }
    }

    /// Whether the process has ended, and its memory with it.
    pub(super) fn is_of_an_ended_process(&self) -> bool {
        match self {
            ReadError::Read(error) => error.is_gone(),
            ReadError::SystemCall(error) => Self::from_call(error),
        }
    }
}

impl From<ReadError> for journal::Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Read(error) => error.into(),
            ReadError::SystemCall(error) => error.into(),
        }
    }
}

impl From<ReadError> for MoveError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Read(error) => error.into(),
            ReadError::SystemCall(error) => error.into(),
        }
    }
}
