//! What can go wrong in an instance.

use crate::layout::{BlockId, ProcessName};

/// What can go wrong in an instance.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The SGA cannot be laid out as asked, or is not what was announced.
    #[error("SGA: {0}")]
    Layout(String),
    /// A statement needs a block that is not in the cache.
    #[error("block {:#x} is not in the buffer cache", .0.0)]
    NotCached(BlockId),
    /// A buffer holds another block than its header says.
    #[error("buffer of block {:#x} holds block {:#x}", wanted.0, found.0)]
    WrongBlock {
        /// What the header says.
        wanted: BlockId,
        /// What the block says.
        found: BlockId,
    },
    /// A block of the data file could not be read.
    #[error("block {:#x}, at byte {position} of the data file, cannot be read: {cause}", block.0)]
    Unreadable {
        /// The block, or the first of several that were read at once.
        block: BlockId,
        /// Where it lies.
        position: u64,
        /// The kernel's answer.
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
        /// Where it lies.
        position: u64,
        /// The kernel's answer.
        #[source]
        cause: linux::SystemCallError,
    },
    /// A block of the data file is not what was written there.
    #[error(
        "block {:#x}, at byte {position} of the data file, is corrupt: its checksum is wrong",
        block.0
    )]
    Corrupt {
        /// The block.
        block: BlockId,
        /// Where it lies.
        position: u64,
    },
    /// A block that another session was reading did not come.
    #[error("block {:#x} could not be read by the session that tried", .0.0)]
    NotReadByOther(BlockId),
    /// A scan found a block that holds no part of the column.
    #[error("block {:#x} holds no values", .0.0)]
    NoColumn(BlockId),
    /// Every buffer is pinned, or dirty and not being written.
    #[error("no buffer for block {:#x}: every buffer is pinned or dirty", .0.0)]
    NoFreeBuffer(BlockId),
    /// A session cannot have the memory of its own that it was to work in.
    #[error("{what} of {} for each session: {cause}; {way_out}", model::ByteSize(*bytes))]
    OwnMemory {
        /// What kind.
        what: &'static str,
        /// How much.
        bytes: u64,
        /// The kernel's answer.
        #[source]
        cause: linux::SystemCallError,
        /// What can be done.
        way_out: &'static str,
    },
    /// A load did not come to the result that it must have.
    #[error("{what}: found {found}, expected {expected}")]
    WrongResult {
        /// What was looked at.
        what: &'static str,
        /// What it is.
        found: String,
        /// What it must be.
        expected: String,
    },
    /// The kernel does not tell the run-queue wait.
    #[error("run-queue wait: {0} (the kernel needs CONFIG_SCHED_INFO)")]
    Schedstat(#[source] std::io::Error),
    /// A system call failed.
    #[error(transparent)]
    SystemCall(#[from] linux::SystemCallError),
    /// The placement could not be carried out or read back.
    #[error(transparent)]
    Placement(#[from] numa::Error),
    /// An order or report is not what was expected.
    #[error("{what}: {cause}")]
    Protocol {
        /// Which document.
        what: &'static str,
        /// What is wrong with it.
        cause: String,
    },
    /// A session or a database writer could not be started, or ended early.
    #[error("{process}: {cause}")]
    Process {
        /// Which one.
        process: ProcessName,
        /// What happened to it.
        cause: String,
    },
    /// A file or pipe failed.
    #[error("{what}: {cause}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// The kernel's answer.
        #[source]
        cause: std::io::Error,
    },
}

impl Error {
    /// How to get the permission that is missing, as a lower-case fragment; `None` when it is not
    /// for lack of permission.
    pub fn permission_wanted(&self) -> Option<&'static str> {
        match self {
            Error::SystemCall(error)
            | Error::OwnMemory { cause: error, .. }
            | Error::Placement(numa::Error::SystemCall(error))
                if error.is_permission() =>
            {
                // Docker's default profile refuses mbind, set_mempolicy and move_pages, unless the
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
