//! Moves the memory of running processes, or lets the kernel move it: where it is, what a move
//! would do, and moving it so that it can be undone.
#![forbid(unsafe_code)]

mod balance;
mod batch;
mod changes;
mod chunk;
mod chunk_log;
mod claims;
mod error;
mod huge_pages_met;
mod memory;
mod mover;
mod object_words;
mod owner;
mod plan;
mod policy;
mod rate;
mod reach;
mod read_error;
mod reader;
mod room;
mod sender;
mod sending;
mod sequence;
mod survey;
mod take_back;
mod time_left;
mod whereabouts;

pub use balance::{
    BalanceLimits, BalancePlan, BalanceSegment, Balanced, Course, balance, plan_balance,
    survey_shared,
};
pub use changes::CHANGES;
pub use claims::{Claims, claim};
pub use error::{MoveError, NoBalancing};
pub use memory::{CHUNK_BYTES, Part, PartKind};
pub use mover::{Moved, Pace, carry_out};
pub use plan::{Plan, PlannedPart, plan};
pub use policy::of_part as policy_of;
pub use rate::{MoveRate, own_rate};
pub use room::{check_room, small_room};
pub use sender::{Sent, reason};
pub use survey::{Choice, Survey, survey};
pub use time_left::{MoveSpeed, TimeLeft};
