//! Every kind of change that placing programs makes.

use journal::Kind;

use crate::group::{ControllerEnabled, GroupCreated};
use crate::groups::{GroupNamed, MemberMoved};
use crate::interleave_weights::WeightsSet;
use crate::kernel_file::FileWritten;
use crate::mount_policy::MountPolicySet;
use crate::pools::PoolResized;
use crate::thread_cpus::ThreadsBound;

/// The kinds of changes that placing programs makes.
pub const CHANGES: &[Kind] = &[
    Kind::of::<GroupCreated>(),
    Kind::of::<ControllerEnabled>(),
    Kind::of::<FileWritten>(),
    Kind::of::<GroupNamed>(),
    Kind::of::<MemberMoved>(),
    Kind::of::<PoolResized>(),
    Kind::of::<MountPolicySet>(),
    Kind::of::<WeightsSet>(),
    Kind::of::<ThreadsBound>(),
];
