//! The live view in the terminal. It draws snapshots; where they come from, a machine or a
//! recording, it does not know.
#![forbid(unsafe_code)]
