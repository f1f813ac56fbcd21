//! Redis and Valkey behind the door of crate `server`: throw-away servers and the load of GETs on
//! them. See docs/valkey.md; both speak the same protocol, so one crate measures both.
#![forbid(unsafe_code)]

mod address;
mod client;
mod cluster;
mod cpu_lists;
mod database;
mod installation;
mod keys;
mod loaded;
mod memory;
mod reply;
mod scratch_server;
mod session;
mod settings;
mod statistics;
mod work;

pub use database::Valkey;
