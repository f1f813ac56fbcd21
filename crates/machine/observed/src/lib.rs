//! What numalab asks of others: their programs, their servers, their folders, and the files that a
//! person names. Each may be sick or hostile, so that every question has a limit in time and in
//! bytes, and is never asked with root's identity where another will do. `cargo xtask tidy` lets no
//! crate above this one open, list, run or connect to anything by itself.
#![forbid(unsafe_code)]

mod error;
mod folder;
mod named_file;
mod program;
mod socket;
mod user;

pub use error::Error;
pub use folder::entries;
pub use named_file::{open_named, read_named};
pub use program::{Answer, Program, one_line};
pub use socket::{Address, HeldAddress, Socket};
pub use user::{ServerUser, as_user_of, name_of_user};
