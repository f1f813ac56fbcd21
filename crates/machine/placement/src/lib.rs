//! Placement: what is requested of a machine, how it is put into force through the journal, what
//! the kernel reports as the result, and whether the two agree.
#![forbid(unsafe_code)]

mod apply;
pub mod bind;
mod changes;
mod contradictions;
mod cpu_limit;
pub mod cpu_quota;
mod destination;
mod dose;
mod error;
pub mod evidence;
pub mod group;
pub mod groups;
pub mod hierarchy;
pub mod interleave_weights;
pub mod kernel_file;
pub mod memory_limit;
pub mod mount_policy;
pub mod pool_reservations;
pub mod pools;
mod target_placement;
mod target_quota;
pub mod thread_cpus;

pub use apply::{allocate_mapping, apply_to_this_process};
pub use changes::CHANGES;
pub use contradictions::{
    MovedTo, contradictions, own_memory_contradictions, placement_contradictions,
};
pub use destination::{Destination, Pattern};
pub use dose::Dose;
pub use error::Error;
pub use target_placement::{Cpus, Limit, TargetPlacement};
pub use target_quota::{TargetQuota, limit_on};
