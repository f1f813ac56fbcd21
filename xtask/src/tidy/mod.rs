//! `cargo xtask tidy`: the rules of the project that compiler and linter do not know. Each rule is
//! a function from texts to findings; only `project` reads files.

mod cycles;
mod dependency_reasons;
mod file_imports;
mod finding;
mod forbid_unsafe;
mod layer_table;
mod layers;
mod links;
mod manifest;
mod markers;
mod module_graph;
mod named_tests;
mod names;
mod printing;
mod project;
mod silent_returns;
mod sizes;

pub(crate) mod command;
