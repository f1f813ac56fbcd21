//! Why a snapshot cannot be taken.

/// Why a snapshot cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The files of the machine cannot be read.
    #[error(transparent)]
    Read(#[from] linux::Error),
    /// The target has no processes.
    #[error(transparent)]
    Instance(#[from] residency::instances::InstanceError),
}
