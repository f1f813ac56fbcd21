//! Errors of an instance.

use crate::layout::BlockId;
use crate::process_name::ProcessName;

/// An error of an instance.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The SGA cannot be laid out as requested, or does not match the expected layout.
    #[error("SGA: {0}")]
    Layout(String),
    /// A statement needs a block that is not in the cache.
    #[error("block {:#x} is not in the buffer cache", .0.0)]
    NotCached(BlockId),
    /// A buffer holds a block other than its header names.
    #[error("buffer of block {:#x} holds block {:#x}", wanted.0, found.0)]
    WrongBlock {
        /// The block that the header names.
        wanted: BlockId,
        /// The id stored in the block.
        found: BlockId,
    },
    /// A block of the data file could not be read.
    #[error("block {:#x}, at byte {position} of the data file, cannot be read: {cause}", block.0)]
    Unreadable {
        /// The block, or the first of several read at once.
        block: BlockId,
        /// Its offset in the data file.
        position: u64,
        /// The error of the system call.
        #[source]
        cause: linux::SystemCallError,
    },
    /// A block could not be written to the data file.
    #[error(
        "block {:#x}, at byte {position} of the data file, cannot be written: {cause}", block.0
    )]
    Unwritable {
        /// The block.
        block: BlockId,
        /// Its offset in the data file.
        position: u64,
        /// The error of the system call.
        #[source]
        cause: linux::SystemCallError,
    },
    /// A block of the data file does not hold what was written there.
    #[error(
        "block {:#x}, at byte {position} of the data file, is corrupt: its checksum is wrong",
        block.0
    )]
    Corrupt {
        /// The block.
        block: BlockId,
        /// Its offset in the data file.
        position: u64,
    },
    /// A block that another session was reading could not be read.
    #[error("another session failed to read block {:#x}", .0.0)]
    NotReadByOther(BlockId),
    /// A scan found a block that is not part of the column.
    #[error("block {:#x} holds no values", .0.0)]
    NoColumn(BlockId),
    /// Every buffer is pinned, or dirty and not being written.
    #[error("no buffer for block {:#x}: every buffer is pinned or dirty", .0.0)]
    NoFreeBuffer(BlockId),
    /// The own memory of a session could not be allocated.
    #[error("{what} of {} for each session: {cause}; {way_out}", model::ByteSize(*bytes))]
    OwnMemory {
        /// Kind of memory.
        what: &'static str,
        /// Bytes for each session.
        bytes: u64,
        /// The error of the system call.
        #[source]
        cause: linux::SystemCallError,
        /// A hint.
        way_out: &'static str,
    },
    /// A load did not produce the expected result.
    #[error("{what}: found {found}, expected {expected}")]
    WrongResult {
        /// What was compared.
        what: &'static str,
        /// Its value.
        found: String,
        /// The expected value.
        expected: String,
    },
    /// The kernel does not report the run-queue wait.
    #[error("run-queue wait: {0} (the kernel needs CONFIG_SCHED_INFO)")]
    Schedstat(#[source] std::io::Error),
    /// A system call failed.
    #[error(transparent)]
    SystemCall(#[from] linux::SystemCallError),
    /// The placement could not be applied or read back.
    #[error(transparent)]
    Placement(#[from] placement::Error),
    /// An order or report is not what was expected.
    #[error("{what}: {cause}")]
    Protocol {
        /// The document.
        what: &'static str,
        /// What is wrong with it.
        cause: String,
    },
    /// A session or a database writer could not be started, or ended early.
    #[error("{process}: {cause}")]
    Process {
        /// The process.
        process: ProcessName,
        /// What happened to it.
        cause: String,
    },
    /// A file or pipe failed.
    #[error("{what}: {cause}")]
    Io {
        /// The operation that failed.
        what: &'static str,
        /// The error.
        #[source]
        cause: std::io::Error,
    },
}

impl Error {
    /// Returns how to get the missing permission, as a lower-case fragment; `None` if the error is
    /// not due to a missing permission.
    pub(crate) fn permission_wanted(&self) -> Option<&'static str> {
        match self {
            Error::SystemCall(error)
            | Error::OwnMemory { cause: error, .. }
            | Error::Placement(placement::Error::Change(journal::Error::SystemCall(error)))
                if error.is_permission() =>
            {
                // Docker's default profile refuses mbind, set_mempolicy and move_pages unless the
                // container has this capability (moby, profiles/seccomp/default.json).
                Some("in a container, allow it: docker run --cap-add SYS_NICE")
            }
            Error::Placement(error) if error.is_permission() => {
                Some("set mechanism = \"affinity\", which needs no group and no root")
            }
            _ => None,
        }
    }
}
