//! A real kernel with many nodes on any machine: QEMU emulates a machine of a named shape, Debian's
//! kernel boots in it, and the host's root file system is its root, read-only.

mod architecture;
mod heartbeat;
mod initial_ramdisk;
mod kernel;
mod machine;
mod options;
mod parts;
mod qemu;
mod relay;
mod run_directory;
mod shape;

pub(crate) mod arm64;
pub(crate) mod command;
pub(crate) mod mariadb;
pub(crate) mod packages;
pub(crate) mod postgresql;

pub(crate) use machine::{Outcome, run};
pub(crate) use options::{Options, TESTS};
pub(crate) use relay::Relay;
pub(crate) use shape::{SHAPES, Shape, find};
