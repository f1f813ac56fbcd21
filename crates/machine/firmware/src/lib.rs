//! A SLIT override from measured latencies, and weights of
//! interleaving from measured bandwidths: figures in, bytes and figures out. Nothing here reads or
//! changes the machine. docs/firmware.md has the whole way.
#![forbid(unsafe_code)]

mod archive;
mod distances;
mod error;
mod slit;
mod slit_file;
mod srat;
mod system_table;
mod weights;

pub mod replacement;

pub use distances::from_latencies;
pub use error::Error;
pub use slit_file::{distances_of_slit, is_slit};
pub use weights::from_bandwidths;
