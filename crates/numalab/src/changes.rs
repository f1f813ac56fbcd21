//! Every kind of change that numalab makes.

use journal::Kinds;

/// The kinds of all crates that change a machine. A change is undone by the crate that made it.
pub(crate) const KINDS: Kinds =
    Kinds(&[placement::CHANGES, relocation::CHANGES, postgresql::CHANGES]);
