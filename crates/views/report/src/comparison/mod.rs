//! A comparison of two runs.

pub(crate) mod text;
pub(crate) mod view;
