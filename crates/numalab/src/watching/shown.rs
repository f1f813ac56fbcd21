//! What is watched.

/// What is watched.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// The target; `None` for the machine.
    pub target: Option<String>,
    /// Whether the target is one process, which ends for good.
    pub is_process: bool,
    /// Seconds between snapshots.
    pub interval_s: f64,
}
