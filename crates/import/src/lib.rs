//! Reads the reports of other measurers into runs: Oracle's AWR and Statspack, as text. Nothing
//! here opens a file or measures.
#![forbid(unsafe_code)]

mod events;
mod figure;
mod header;
mod load_profile;
mod parameters;
mod pieces;
mod report;
mod table;
mod time_model;

pub use report::{REPORTS_MAX, reports_of_file};
