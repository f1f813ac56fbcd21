//! Converts reports of other tools into runs: Oracle's AWR, as HTML or text, Statspack, and tables
//! of figures. Nothing here opens a file or measures.
#![forbid(unsafe_code)]

mod consistency;
mod csv_file;
mod events;
mod figure;
mod header;
mod html;
mod load_profile;
mod parameters;
mod pieces;
mod report;
mod run;
mod table;
mod time_model;

pub use csv_file::{Columns, Table, TableCase, cases_of_table};
pub use report::reports_of_file;
pub use run::{
    EXPERIMENT, ReportedCase, TABLE_EXPERIMENT, TableRun, assume_interval, run_of_reports,
    run_of_table,
};
