//! Records of live loads, and sessions on them.

pub(crate) mod comparison;
pub(crate) mod comparison_text;
pub(crate) mod figures;
pub(crate) mod live_text;
pub(crate) mod text;
