//! PostgreSQL behind the door of crate `server`: throw-away clusters, statements, counters, and the
//! location of the shared buffers. See docs/postgres.md for the protocol.
#![forbid(unsafe_code)]

mod buffers;
mod changes;
mod cluster;
mod cluster_settings;
mod connected;
mod connection;
mod counters;
mod database;
mod error;
mod fetched;
mod folders;
mod installation;
mod kind;
mod local;
mod login;
mod prewarm;
mod programs;
mod relations;
mod scratch_cluster;
mod scratch_server;
mod server_settings;
mod session;
mod sessions;
mod statement;
mod tables;
mod version;
mod work;

pub use changes::CHANGES;
pub use database::PostgreSql;
pub use installation::{Installation, Places, find};
pub use relations::{BufferMap, RelationsOrder, buffer_map, relations};
pub use server_settings::{recorded_settings, server_settings};
pub use sessions::sessions;
pub use version::{Release, Version};
