//! A server that is already running: measured as it is, by reading a table of the user's, or tables
//! of numalab's in a schema that the user names.

mod connected_server;
mod schema;
mod their_table;

pub(crate) use connected_server::ConnectedServer;
pub(crate) use schema::SchemaMade;
