//! `cargo xtask tidy`: the rules of the project that compiler and linter do not know. Each rule is
//! a function from texts to findings; only `project` reads files.

mod cycles;
mod file_imports;
mod finding;
pub(crate) mod layer_table;
mod layers;
mod links;
mod lints;
mod manifest;
mod markers;
mod module_graph;
mod named_tests;
mod names;
mod own_doors;
mod project;
mod silent_returns;
mod sizes;
pub(crate) mod tested_crates;

pub(crate) mod command;
