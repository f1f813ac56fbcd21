//! What can go wrong when a kernel is prepared or run.

use model::{CpuId, NodeId};

/// What can go wrong when a kernel is prepared or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of /proc or /sys could not be read or understood.
    #[error(transparent)]
    Read(#[from] linux::Error),
    /// A system call was refused.
    #[error(transparent)]
    SystemCall(#[from] linux::SystemCallError),
    /// Evidence could not be read back.
    #[error(transparent)]
    Evidence(#[from] numa::Error),
    /// A node has not enough free memory.
    #[error("node {node} has no room for {bytes} bytes in {kind} pages: {cause}")]
    NoMemory {
        /// The node.
        node: NodeId,
        /// What was asked for.
        bytes: usize,
        /// Name of the kind of pages.
        kind: &'static str,
        /// The kernel's answer.
        cause: linux::SystemCallError,
    },
    /// The kernel gave other pages than were asked for.
    #[error("{bytes} bytes of {asked} are not in pages of the kind {kind}")]
    OtherPages {
        /// Bytes in other pages.
        bytes: u64,
        /// Bytes asked for.
        asked: u64,
        /// Name of the kind of pages asked for.
        kind: &'static str,
    },
    /// A CPU did not answer in a transfer of a cache line.
    #[error("CPU {cpu} does not answer: it is offline or has other work")]
    NoAnswer {
        /// The CPU.
        cpu: CpuId,
    },
    /// A thread of a kernel panicked or could not be started.
    #[error("a measuring thread on CPU {cpu} failed: {reason}")]
    Thread {
        /// The CPU it was for.
        cpu: CpuId,
        /// Why.
        reason: String,
    },
}

impl Error {
    /// Whether a permission is missing, so that the way without root should be named.
    pub fn is_permission(&self) -> bool {
        match self {
            Error::SystemCall(error) => error.is_permission(),
            Error::Evidence(error) => error.is_permission(),
            Error::NoMemory { cause, .. } => cause.is_permission(),
            _ => false,
        }
    }
}
