//! What is found out about machines from their files: one file for each subject.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod errors;
mod of_machines;
mod variants;
