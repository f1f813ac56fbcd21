//! Loads that sessions run in place of reading rows: one file per load, behind one trait.
//!
//! To add a load, add its file, a line in [`make`], and a row in `model::SessionLoad::TABLE`. All
//! sessions share placement, barrier, window, evidence and accounting.

mod compute;
mod load;
mod memory_hammer;
mod shm_fill;
mod spin;

use model::SessionLoad;

use crate::Error;

pub(crate) use load::{Ingredients, Load};

/// Creates the load of a session, with its memory placed and prefaulted.
///
/// # Errors
/// When the memory cannot be allocated.
pub(crate) fn make(of: &Ingredients<'_>) -> Result<Box<dyn Load>, Error> {
    Ok(match of.own.load {
        SessionLoad::MemoryHammer => Box::new(memory_hammer::MemoryHammer::new(of)?),
        SessionLoad::Compute => Box::new(compute::Compute::new(of)?),
        SessionLoad::ShmFill => Box::new(shm_fill::ShmFill::new(of)?),
        SessionLoad::Spin => Box::new(spin::Spin::new(of.seed)),
    })
}
