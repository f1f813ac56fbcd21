//! Files that pages load.

/// The style of the pages.
pub(crate) const STYLE: &str = include_str!("../assets/style.css");
/// The script of the live page.
pub(crate) const SCRIPT: &str = include_str!("../assets/live.js");
