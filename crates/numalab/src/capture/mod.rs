//! Captures: archives of a machine's files, and `--root`, which reads such an archive or a
//! directory instead of this machine.

mod pack;
mod root;
mod unpack;

pub(crate) use pack::{Manifest, Packer};
pub(crate) use root::{MachineRoot, WHAT_ROOT_TAKES};
pub(crate) use unpack::each_file;
