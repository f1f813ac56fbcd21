//! The target of a command, as a user names it on a machine.

use linux::Root;
use residency::instances::{Target, resolved};

use crate::failure::Failure;

/// Reads a target; `postgres:PORT` and `postgres:VERSION/CLUSTER` become the data directory.
pub(crate) fn of(root: &Root, text: &str) -> Result<Target, Failure> {
    Ok(resolved(root, text.parse()?)?)
}
