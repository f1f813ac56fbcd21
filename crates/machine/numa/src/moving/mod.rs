//! Moves the memory of running processes: where it is, what a move would do, and moving it so that
//! it can be undone.

mod chunk_log;
mod claims;
mod destination;
mod error;
mod memory;
mod mover;
mod plan;
mod policy;
mod rate;
mod reader;
mod room;
mod sender;
mod sequence;
mod survey;
mod take_back;
mod whereabouts;

pub use claims::{Claims, claim};
pub use destination::{Destination, Pattern};
pub use error::MoveError;
pub use memory::{CHUNK_BYTES, Part, PartKind};
pub use mover::{Moved, Pace, carry_out};
pub use plan::{Plan, PlannedPart, plan};
pub use policy::of_part as policy_of;
pub use rate::own_bytes_per_s;
pub use room::check_room;
pub use sender::{Sent, reason};
pub use survey::{Choice, Survey, survey};

pub(crate) use chunk_log::Owner;
pub(crate) use claims::of_owner as claim_owner;
pub(crate) use policy::undo as undo_policy;
pub(crate) use take_back::{owners, undo as undo_pages};
