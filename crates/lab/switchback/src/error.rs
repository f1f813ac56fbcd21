//! What can go wrong when placements are tried.

use residency::instances::InstanceError;

/// What can go wrong when placements are tried.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of /proc or /sys could not be read.
    #[error(transparent)]
    Read(#[from] linux::Error),
    /// The target has no processes.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// Another numalab is at work, or the journal cannot be used.
    #[error(transparent)]
    Journal(#[from] journal::Error),
    /// CPUs could not be set.
    #[error(transparent)]
    Placement(#[from] placement::Error),
    /// Memory could not be moved.
    #[error(transparent)]
    Move(#[from] relocation::MoveError),
    /// Some memory stayed where it was.
    #[error("{placement} was not honoured: {reason}")]
    NotHonoured {
        /// The placement.
        placement: String,
        /// What stayed, and why.
        reason: String,
    },
    /// A placement that this machine cannot have.
    #[error("{placement}: {reason}")]
    Impossible {
        /// The placement.
        placement: String,
        /// Why.
        reason: String,
    },
    /// The counter of work cannot be read.
    #[error("cannot read {metric}: {reason}")]
    Counter {
        /// The metric.
        metric: String,
        /// Why.
        reason: String,
    },
    /// The counter did not move, or the target used no CPU time, before anything was tried.
    #[error("{0}")]
    NoLoad(String),
}
