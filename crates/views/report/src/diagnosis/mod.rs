//! What is wrong, and what to do.

pub(crate) mod cure_plan_text;
pub(crate) mod doctor_text;
pub(crate) mod findings_text;
pub(crate) mod kept_text;
pub(crate) mod reading_text;
