//! What one needs of a machine, and of the memory of a database on it, to judge both elsewhere:
//! which files, and what of them. No content of memory, and of a command line only its first word.

mod condense;
mod entry;
mod processes;
mod selection;

pub use entry::{Content, Entry, read};
pub use processes::paths as paths_of_processes;
pub use selection::paths as paths_of_machine;
