//! The HTTP server: who may read, what is where, and the limits of a connection.

mod access;
mod answer;
mod clients;
mod connections;
mod latest;
mod request;
mod routes;
mod shown;

pub use access::{TOKEN_MIN, Token};
pub use connections::{Error, Limits, Server, Settings};
pub use routes::routes_markdown;
