//! What sessions do when they do not read rows: one file for each load, behind one trait.
//!
//! To add one: a file here, a variant of `model::SessionLoad`, a line in `table::make`, and a word
//! in the experiment crate's table of works. Placement, barrier, window, evidence and books are
//! those of every session.

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
