//! Errors of preparing and running a kernel.

use model::{CpuId, NodeId};

/// An error of preparing or running a kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of /proc or /sys could not be read or parsed.
    #[error(transparent)]
    Read(#[from] linux::Error),
    /// A system call failed.
    #[error(transparent)]
    SystemCall(#[from] linux::SystemCallError),
    /// Evidence could not be read back.
    #[error(transparent)]
    Evidence(#[from] placement::Error),
    /// A node does not have enough free memory.
    #[error("not enough memory on node {node} for {bytes} bytes in {kind} pages: {cause}")]
    NoMemory {
        /// The node.
        node: NodeId,
        /// Bytes requested.
        bytes: usize,
        /// Name of the page kind.
        kind: &'static str,
        /// The error of the system call.
        cause: linux::SystemCallError,
    },
    /// The kernel provided pages of a kind other than requested.
    #[error("{bytes} of {asked} bytes are not in {kind} pages")]
    OtherPages {
        /// Bytes in pages of another kind.
        bytes: u64,
        /// Bytes requested.
        asked: u64,
        /// Name of the requested page kind.
        kind: &'static str,
    },
    /// A thread cannot run on a CPU (sched_setaffinity(2), `EINVAL`).
    #[error("CPU {cpu} is offline or may not be used: {cause}")]
    NoCpu {
        /// The CPU.
        cpu: CpuId,
        /// The error of the system call.
        cause: linux::SystemCallError,
    },
    /// A CPU did not respond in a cache-line transfer.
    #[error("CPU {cpu} does not respond: it is offline or busy")]
    NoAnswer {
        /// The CPU.
        cpu: CpuId,
    },
    /// A thread of a kernel panicked or could not be started.
    #[error("a measuring thread on CPU {cpu} failed: {reason}")]
    Thread {
        /// The CPU it was to run on.
        cpu: CpuId,
        /// Why.
        reason: String,
    },
}

impl Error {
    /// Returns whether a permission is missing, so that the caller can name the way without root.
    pub fn is_permission(&self) -> bool {
        match self {
            Error::SystemCall(error) => error.is_permission(),
            Error::Evidence(error) => error.is_permission(),
            Error::NoMemory { cause, .. } | Error::NoCpu { cause, .. } => cause.is_permission(),
            _ => false,
        }
    }
}
