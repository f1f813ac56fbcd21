//! One run, in words.

pub(crate) mod asked;
pub(crate) mod bars;
pub(crate) mod blocks;
pub(crate) mod calibration;
pub(crate) mod case;
pub(crate) mod distance;
pub(crate) mod document;
pub(crate) mod evidence;
pub(crate) mod figures;
pub(crate) mod history;
pub(crate) mod leading;
pub(crate) mod licence;
pub(crate) mod load_profile;
pub(crate) mod load_sweep;
pub(crate) mod machine;
pub(crate) mod markdown;
pub(crate) mod ranking;
pub(crate) mod reports;
pub(crate) mod status;
pub(crate) mod text;
pub(crate) mod view;
pub(crate) mod windows;
