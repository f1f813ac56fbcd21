//! The screen at the end of `numalab run`.

pub(crate) mod next;
pub(crate) mod not_run;
pub(crate) mod ranking;
pub(crate) mod warnings;
pub(crate) mod whole;
