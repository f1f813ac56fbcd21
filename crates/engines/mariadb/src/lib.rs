//! MariaDB behind the door of crate `server`: throw-away servers with InnoDB, statements, counters,
//! and the location of the buffer pool. See docs/mariadb.md for the protocol.
#![forbid(unsafe_code)]

mod buffer_pool;
mod client;
mod cluster;
mod credentials;
mod database;
mod door;
mod error;
mod installation;
mod kind;
mod loaded_tables;
mod random;
mod relations;
mod running_settings;
mod scratch_server;
mod session;
mod settings;
mod status;
mod tables;
mod user;
mod work;

pub use database::MariaDb;
