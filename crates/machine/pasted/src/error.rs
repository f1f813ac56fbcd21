//! Why texts cannot be read as one machine.

/// Why not.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// Nothing in them is known.
    #[error("nothing in {files} is recognised")]
    Nothing {
        /// Their names.
        files: String,
    },
    /// They contradict each other in what no machine changes.
    #[error("they are of two machines: {what}: {one} at {at}, but {other} at {and_at}")]
    TwoMachines {
        /// What differs.
        what: String,
        /// The first reading.
        one: String,
        /// Where it stands.
        at: String,
        /// The other reading.
        other: String,
        /// Where that stands.
        and_at: String,
    },
}
