//! The journal of changes to a machine (docs/journal.md): every change is written and synced before
//! it is made, knows how to undo itself, and is made under a lock. What the changes are, the crates
//! that make them say: they implement [`Change`], and the binary lists their [`Kinds`].
#![forbid(unsafe_code)]

mod change;
mod claim;
mod error;
mod file;
mod kinds;
mod process_identity;
mod thing;
mod undo;

pub use change::{Change, Presence, TakeBack};
pub use claim::{Claim, claim_file, claim_path, deadline};
pub use error::Error;
pub use file::{Entry, Journal, Recorded};
pub use kinds::{Kind, Kinds};
pub use process_identity::{Origin, ProcessIdentity};
pub use thing::{Lock, Thing, is_cgroup, kernel_place};
pub use undo::{Undone, undo, undo_at};
