//! Why memory cannot be moved.

use model::{ByteSize, NodeId, NodeSet, node_words};

use residency::instances::InstanceError;

/// Why memory cannot be moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// The processes could not be found.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// A file of the kernel could not be read.
    #[error(transparent)]
    Read(#[from] linux::Error),
    /// The kernel refused a call.
    #[error(transparent)]
    SystemCall(#[from] linux::SystemCallError),
    /// The journal could not be written, or another numalab is at work on these processes.
    #[error(transparent)]
    Journal(#[from] journal::Error),
    /// The destination is impossible.
    #[error("cannot move to {destination}: {reason}")]
    Destination {
        /// The destination, as the user gave it.
        destination: String,
        /// What is wrong.
        reason: String,
    },
    /// It failed after it had begun to change something.
    #[error(
        "{cause}; what was changed until then is in the journal, as {}",
        changes(entries)
    )]
    Unfinished {
        /// The numbers of the changes in the journal.
        entries: Vec<u64>,
        /// Why it failed.
        cause: Box<MoveError>,
    },
    /// A named segment does not exist.
    #[error("{target} has no shared memory called {name:?}; it has {known}")]
    NoSegment {
        /// The target.
        target: String,
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// This user may move nothing of the target.
    #[error("cannot move memory of {target}: {reason}")]
    NotPermitted {
        /// The target.
        target: String,
        /// What is missing.
        reason: String,
    },
    /// All processes of the target have ended.
    #[error("all processes of {target} ended meanwhile")]
    Ended {
        /// The target.
        target: String,
    },
    /// A cpuset forbids the destination.
    #[error(
        "the cpuset of {who} allows memory only on {}, not on node {node}",
        node_words(allowed)
    )]
    Forbidden {
        /// The process, or numalab itself.
        who: String,
        /// The nodes it may use.
        allowed: NodeSet,
        /// The requested node.
        node: NodeId,
    },
    /// A node has too little room. Nothing was moved.
    #[error(
        "not enough memory on node {node}: needs {} {what}, has {}",
        ByteSize(*needed_bytes), ByteSize(*free_bytes)
    )]
    NoRoom {
        /// The node.
        node: NodeId,
        /// In which pages: `in small pages`, `in huge pages of 2 MiB`.
        what: String,
        /// Bytes that would arrive, less those that would leave.
        needed_bytes: u64,
        /// Bytes that it can take.
        free_bytes: u64,
    },
    /// Another process has set the policy of memory that the kernel balances.
    #[error(
        "another process has set the memory policy of {name} to {policy} meanwhile: left as it is"
    )]
    PolicySetByAnother {
        /// The segment.
        name: String,
        /// Its policy now.
        policy: String,
    },
    /// The kernel does not balance memory.
    #[error("cannot let the kernel balance {target}: {reason}")]
    NoBalancing {
        /// The target.
        target: String,
        /// What stands in the way.
        reason: NoBalancing,
    },
}

fn changes(entries: &[u64]) -> String {
    let numbers: Vec<String> = entries.iter().map(u64::to_string).collect();
    match &numbers[..] {
        [only] => format!("change {only}"),
        several => format!("changes {}", several.join(" ")),
    }
}

/// Why the kernel does not balance memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoBalancing {
    /// There is nothing to balance.
    #[error("this machine has one node with memory that the target may use")]
    OneNode,
    /// The kernel was built without it, or started with `numa_balancing=disable` and no way to
    /// turn it on.
    #[error("this kernel has no /proc/sys/kernel/numa_balancing")]
    Missing,
    /// It is turned off, or does nothing but promote pages from slower memory (value 2).
    #[error("kernel.numa_balancing is {0}")]
    Off(u32),
    /// The kernel is too old.
    #[error("this kernel knows no MPOL_F_NUMA_BALANCING for mbind(2), a flag of Linux 5.12")]
    OldKernel,
    /// The target has no such memory.
    #[error("it has no shared memory in small pages, and the kernel balances no other")]
    NoSmallPages,
}

impl MoveError {
    /// The same, if these changes in the journal may have been made before.
    pub(super) fn after(self, entries: Vec<u64>) -> Self {
        match entries.is_empty() {
            true => self,
            false => MoveError::Unfinished {
                entries,
                cause: Box::new(self),
            },
        }
    }

    /// Whether a permission is missing.
    pub fn is_permission(&self) -> bool {
        match self {
            MoveError::NotPermitted { .. } => true,
            MoveError::Unfinished { cause, .. } => cause.is_permission(),
            MoveError::SystemCall(error) => error.is_permission(),
            MoveError::Journal(error) => error.is_permission(),
            MoveError::Read(linux::Error::Read { cause, .. }) => {
                cause.kind() == std::io::ErrorKind::PermissionDenied
            }
            _ => false,
        }
    }
}
