//! What trials decided, in sentences.

pub(crate) mod answer;
pub(crate) mod controls;
pub(crate) mod names;
pub(crate) mod sentence;
pub(crate) mod too_few;
pub(crate) mod warnings;
