//! Why cases differ.

pub(crate) mod document;
pub(crate) mod text;
