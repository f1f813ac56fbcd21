//! Databases: which there are, and what their servers say.

pub(crate) mod looks;
pub(crate) mod table;
