//! Which node holds which table of a running server: what its shared buffers hold, joined with
//! where their pages lie. Nothing is created in the server, and no page of the buffers is touched.

mod ask;
mod contents;
mod look;
mod names;
mod server_view;
mod tally;

pub use look::{RelationsOrder, relations};
