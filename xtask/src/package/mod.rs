//! What is handed on: the program, what is installed beside it, an archive and a Debian package
//! with all of that, and their trial.

mod archive;
mod debian;
mod files;
mod machine;
mod notices;
mod program;
mod tree;
mod trial;

pub(crate) mod command;

pub(crate) use machine::Machine;
pub(crate) use program::build;
