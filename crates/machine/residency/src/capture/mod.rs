//! What is needed of a machine, and of the memory of a database on it, to judge both elsewhere:
//! which files, and which parts of them. No memory content, and only the first word of a command
//! line.

mod condense;
mod entry;
mod processes;
mod selection;

pub use entry::{Content, Entry, read};
pub use processes::paths as paths_of_processes;
pub use selection::paths as paths_of_machine;
