//! What commands that move memory have in common.

pub(crate) mod move_report;
pub(crate) mod plan_file;
pub(crate) mod progress;
pub(crate) mod scope;
pub(crate) mod trace;
