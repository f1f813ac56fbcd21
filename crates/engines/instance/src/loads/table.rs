//! The table of loads: creates each variant with its module.

use model::SessionLoad;

use super::{Ingredients, Load, compute, memory_hammer, shm_fill, spin};
use crate::Error;

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
