//! What the machine is.

pub(crate) mod caches;
pub(crate) mod cpus;
pub(crate) mod distances;
pub(crate) mod groups;
pub(crate) mod map;
pub(crate) mod settings;
pub(crate) mod svg;
pub(crate) mod text;
