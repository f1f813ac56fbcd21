//! One way to run statements in SQLite and in PostgreSQL. Statements are written once: `$1`, `$2`,
//! … first occur in this order, which SQLite counts by, and nothing is used that one of them lacks.

mod connection;
mod file;
mod row;
mod server;
mod session;
mod transaction;
mod value;

pub(crate) use connection::Database;
pub(crate) use file::{connect, set_and_read};
pub(crate) use row::Row;
pub(crate) use server::{Server, new_uid};
pub(crate) use transaction::Transaction;
pub(crate) use value::Value;
