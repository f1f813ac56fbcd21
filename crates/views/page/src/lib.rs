//! Shows documents as pages to look at: one self-contained HTML file, readable without script.
//! Nothing here measures, judges or prints.
#![forbid(unsafe_code)]

mod pictures;

pub use pictures::*;
