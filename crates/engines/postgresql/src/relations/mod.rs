//! Which node holds which table of a running server: the content of its shared buffers, joined with
//! the location of their pages. Creates nothing in the server and touches no page of the buffers.

mod ask;
mod buffer_map;
mod contents;
mod look;
mod names;
mod server_view;
mod tally;

pub use buffer_map::{BufferMap, buffer_map};
pub use look::{RelationsOrder, relations};
