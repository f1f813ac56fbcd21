//! Where memory lies.

pub(crate) mod figures;
pub(crate) mod granules;
pub(crate) mod layout;
pub(crate) mod processes;
pub(crate) mod relations;
pub(crate) mod text;
pub(crate) mod threads;
