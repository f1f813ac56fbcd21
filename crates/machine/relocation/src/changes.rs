//! Every kind of change that moving memory makes.

use journal::Kind;

use crate::balance::places::MemoryBalanced;
use crate::policy::SegmentPolicySet;
use crate::take_back::PagesMoved;

/// The kinds of changes that moving memory makes.
pub const CHANGES: &[Kind] = &[
    Kind::of::<SegmentPolicySet>(),
    Kind::of::<PagesMoved>(),
    Kind::of::<MemoryBalanced>(),
];
