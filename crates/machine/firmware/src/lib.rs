//! A table of distances from measured latencies, in the place of the firmware's: bytes in, bytes
//! out. Nothing here reads or changes the machine. docs/firmware.md has the whole way.
#![forbid(unsafe_code)]

mod archive;
mod distances;
mod error;
mod slit;
mod srat;
mod system_table;

pub mod replacement;

pub use distances::from_latencies;
pub use error::Error;
