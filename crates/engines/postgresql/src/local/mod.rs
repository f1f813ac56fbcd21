//! A running server on this machine, named by its data directory: reached through its socket as its
//! owner.

mod lock_file;
mod owner;
mod server;

pub(crate) use self::server::{Door, LocalServer};
