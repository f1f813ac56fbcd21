//! Loads that sessions run in place of reading rows: one file per load, behind one trait.
//!
//! To add a load, add a file here, a variant of `model::SessionLoad`, a line in `table::make`, and
//! a word in the experiment crate's table of works. All sessions share placement, barrier, window,
//! evidence and accounting.

mod compute;
mod load;
mod memory_hammer;
mod mix;
mod own_memory;
mod shm_fill;
mod spin;
mod table;
#[cfg(test)]
mod test_reader;

pub(crate) use load::{Ingredients, Load};
pub(crate) use table::make;
