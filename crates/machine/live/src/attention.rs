//! What a reader looks at.

use std::collections::BTreeSet;

use model::OpenedSubject;

/// What a reader looks at: it comes first, and has more in the next snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attention {
    /// What is open: its threads and segments are read.
    pub opened: Option<OpenedSubject>,
    /// Processes on the screen: their titles are read again for each snapshot, and their memory is
    /// looked at before that of others.
    pub visible: BTreeSet<u32>,
}
