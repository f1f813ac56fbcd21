//! A server that is already running: measured as it is, by reading a table of the user's, or tables
//! of numalab's in a schema that the user names.

mod schema;
mod server;
mod their_table;
mod url;

pub(crate) use schema::SchemaMade;
pub use server::{ConnectOrder, Connected, Source};
