//! What places memory and CPUs, or would.

pub(crate) mod balance_text;
pub(crate) mod bind_text;
pub(crate) mod dose_text;
pub(crate) mod firmware_text;
pub(crate) mod group_configuration;
pub(crate) mod groups_text;
pub(crate) mod move_text;
pub(crate) mod pools_text;
pub(crate) mod predict_text;
pub(crate) mod try_text;
pub(crate) mod weights_text;
