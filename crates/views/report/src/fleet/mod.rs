//! Machines that should be equal.

pub(crate) mod comparison_text;
