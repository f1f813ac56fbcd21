//! Which pages a sample of a segment has.

/// Fixed, so that two inspections of a segment sample the same pages: a difference between them
/// means that pages have moved.
pub(crate) const SAMPLE_SEED: u64 = 1;
