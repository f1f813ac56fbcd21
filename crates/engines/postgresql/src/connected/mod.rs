//! A server that runs already: measured as it is, by reading a table of theirs, or tables of
//! ours in a schema that the user names.

mod schema;
mod server;
mod their_table;
mod url;

pub use schema::drop_schema;
pub use server::{ConnectOrder, Connected, Source};
