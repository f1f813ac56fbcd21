//! Who touched memory first: from page faults to the process and node that decided where each page
//! of shared memory went ([docs/firsttouch.md](../../../../docs/firsttouch.md)).
#![forbid(unsafe_code)]

mod address_space;
mod blocks;
mod look;
mod page_records;
mod picture;
mod processes;
mod result;
mod segments;
mod tracker;
mod whereabouts;

pub use blocks::{Blocks, GroupTouches};
pub use look::{Look, LookError};
