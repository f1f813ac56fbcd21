//! Captures of machines: what the kernel says about nodes, CPUs and memory, in one text file that
//! people can review and tests can unpack. docs/guests.md describes the format.

mod archive;

pub(crate) mod command;
