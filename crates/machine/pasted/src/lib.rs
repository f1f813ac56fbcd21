//! What people already have: text copied from terminals, mails and pages, read as the files that
//! the kernel of its machine would show. Text in, files and readings out; nothing here reads or
//! changes a machine. docs/pasted.md has all of it.
#![forbid(unsafe_code)]

mod clean;
mod error;
mod latencies;
mod line;
mod lstopo;
mod machine;
mod moments;
mod paste;
mod process_line;
mod processes;
mod reader;
mod tables;

pub use error::Error;
pub use paste::{Paste, Text};
pub use reader::read;
