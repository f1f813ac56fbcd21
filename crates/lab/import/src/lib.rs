//! Converts reports of other tools into runs: Oracle's AWR and Statspack, as text. Nothing here
//! opens a file or measures.
#![forbid(unsafe_code)]

mod consistency;
mod events;
mod figure;
mod header;
mod load_profile;
mod parameters;
mod pieces;
mod report;
mod run;
mod table;
mod time_model;

pub use report::reports_of_file;
pub use run::{EXPERIMENT, ReportedCase, assume_interval, run_of_reports};
