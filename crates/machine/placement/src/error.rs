//! What can go wrong when something is placed, or a placement is read back.

use model::{CpuSet, NodeId};
use residency::numa_maps::NumaMapsError;

/// What can go wrong when something is placed, or a placement is read back.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A change could not be made or undone, or what the kernel says could not be read.
    #[error(transparent)]
    Change(#[from] journal::Error),
    /// A line of numa_maps is malformed, or missing.
    #[error(transparent)]
    NumaMaps(#[from] NumaMapsError),
    /// The kernel has no weighted interleaving.
    #[error("this kernel has no weighted interleaving, which needs Linux 6.9 or newer")]
    NoWeights,
    /// The kernel has no weight for a node.
    #[error("this kernel has no weight of node {node}")]
    NoWeightOf {
        /// The node.
        node: NodeId,
    },
    /// A cpuset or another process leaves a thread other CPUs than those that it was bound to.
    #[error("thread {tid} was bound to CPUs {cpus} and has {reached}, as its cpuset allows")]
    CpusNotHonoured {
        /// The thread.
        tid: u32,
        /// The CPUs requested.
        cpus: CpuSet,
        /// Those that it has.
        reached: CpuSet,
    },
    /// A placement that this machine cannot have.
    #[error("{placement}: {reason}")]
    Impossible {
        /// The placement.
        placement: String,
        /// Why.
        reason: String,
    },
    /// No processor group can be created here.
    #[error("cannot use processor groups: {reason}")]
    NoGroups {
        /// Why.
        reason: String,
    },
    /// Processor groups could be created, but not by this process.
    #[error("no permission to create processor groups: {reason}")]
    GroupsNotPermitted {
        /// Why.
        reason: String,
    },
    /// A processor group cannot be created, changed or used as requested.
    #[error("group {name}: {reason}")]
    Group {
        /// Its name.
        name: String,
        /// Why not.
        reason: String,
    },
    /// A processor group did not get what was requested.
    #[error("group {name}: the request was not honoured: {reason}")]
    GroupNotHonoured {
        /// Its name.
        name: String,
        /// What differs.
        reason: String,
    },
}

/// What the kernel refuses goes by way of [`journal::Error`].
macro_rules! from_refusals {
    ($($refusal:ty),+) => {
        $(impl From<$refusal> for Error {
            fn from(refusal: $refusal) -> Self {
                Error::Change(refusal.into())
            }
        })+
    };
}

from_refusals!(
    linux::Error,
    linux::SystemCallError,
    linux::control_group::ControlGroupError,
    linux::systemd::SystemdError
);

impl Error {
    /// Whether a permission is missing, so that a way without root should be suggested.
    pub fn is_permission(&self) -> bool {
        match self {
            Error::Change(error) => error.is_permission(),
            Error::GroupsNotPermitted { .. } => true,
            _ => false,
        }
    }
}
