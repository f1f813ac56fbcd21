//! Which node holds which table of a running server: the content of its shared buffers, joined with
//! the location of their pages. Creates nothing in the server and touches no page of the buffers.

mod ask;
mod contents;
mod look;
mod names;
mod server_view;
mod tally;

pub use look::{RelationsOrder, relations};
