//! What is wrong with a machine, and with the memory of a database on it: one table of findings,
//! each with evidence, cost and the fix.

mod cure;
mod huge_pages;
mod incomplete_data;
mod input;
mod instance;
mod machine;
mod postgres;
mod settings;
mod shell_word;
mod table;

pub use input::{DoctorInput, PostgresSettings};
pub use table::{FINDINGS, Rule, diagnose};
