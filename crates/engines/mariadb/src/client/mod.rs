//! A client of MariaDB's protocol over a Unix socket: as much of it as the load needs. The crate
//! `mysql` would bring dozens of others for TLS, passwords, compression and the types of values.

mod connection;
mod packet;

pub(crate) use connection::{Client, Statement};
