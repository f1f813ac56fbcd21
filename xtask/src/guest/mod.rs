//! A real kernel with many nodes on any machine: QEMU emulates a machine of a named shape, Debian's
//! kernel boots in it, and the host's root file system is its root, read-only.

mod busybox;
mod initial_ramdisk;
mod kernel;
mod machine;
mod options;
mod qemu;
mod relay;
mod run_directory;
mod shape;

pub mod command;
pub mod packages;
pub mod postgresql;

pub use machine::{Outcome, run};
pub use options::Options;
pub use relay::Relay;
pub use shape::{Node, SHAPES, Shape, find};
