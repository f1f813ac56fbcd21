//! Captures: a machine's files in one archive that can be sent to others, and `--root`,
//! which takes such an archive or a folder in place of this machine.

mod pack;
mod root;
mod unpack;

pub(crate) use pack::{Manifest, Packer};
pub(crate) use root::{MachineRoot, WHAT_ROOT_TAKES};
