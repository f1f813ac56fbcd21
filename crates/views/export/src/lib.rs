//! Stored trials as a Parquet file, for DuckDB, Spark and pandas: a row for each trial
//! (docs/store.md, "Export").
#![forbid(unsafe_code)]

mod columns;
mod table;

pub use table::Table;
