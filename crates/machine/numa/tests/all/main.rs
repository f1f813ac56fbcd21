//! What is found out about machines and processes, from outside: one file for each subject.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod findings;
mod mutated_files;
mod processor_groups;
mod residency_of_article_003;
mod topology_errors;
mod topology_of_machines;
mod topology_variants;
