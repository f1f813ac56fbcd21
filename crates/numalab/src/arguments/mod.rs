//! The command line: commands, their options, and the values of these.

pub(crate) mod command_line;
pub(crate) mod commands;
pub(crate) mod doctor;
pub(crate) mod memory;
pub(crate) mod placement;
pub(crate) mod run;
pub(crate) mod values;
