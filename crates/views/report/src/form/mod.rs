//! What all texts share: escaping, layout, colours.

pub(crate) mod advice;
pub(crate) mod node_table;
pub(crate) mod plain;
pub(crate) mod style;
pub(crate) mod table;
