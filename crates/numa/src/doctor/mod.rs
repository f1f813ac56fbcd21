//! What is wrong with a machine, and with the memory of a database on it: one table of findings,
//! each with evidence, cost and the way out.

mod cure;
mod huge_pages;
mod incomplete_data;
mod instance;
mod machine;
mod patient;
mod postgres;
mod settings;
mod shell_word;
mod table;

pub use patient::Patient;
pub use postgres::PostgresSettings;
pub use table::{FINDINGS, Rule, diagnose};
