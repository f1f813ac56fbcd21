//! What is printed and written, and where numalab keeps what it knows.

pub(crate) mod licences;
pub(crate) mod named_store;
pub(crate) mod requested_files;
pub(crate) mod state_folder;
