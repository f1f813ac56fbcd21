//! Who touched memory first.

pub(crate) mod groups;
pub(crate) mod picture;
pub(crate) mod relations;
pub(crate) mod sentences;
pub(crate) mod text;
