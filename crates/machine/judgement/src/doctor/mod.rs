//! What the doctor examines, and what its findings ([`crate::findings`]) share.

pub(crate) mod cpu_lists;
mod cpus_used;
pub(crate) mod cure;
mod devices;
pub(crate) mod distances;
pub(crate) mod far_cache;
pub(crate) mod innodb_pool;
mod input;
pub(crate) mod instances;
pub(crate) mod memory;
mod placed_by;
pub(crate) mod pools;
pub(crate) mod postgres_server;
#[cfg(test)]
pub(crate) mod samples;
pub(crate) mod sight;
pub(crate) mod skew;
pub(crate) mod slots;
pub(crate) mod threads;
pub(crate) mod uneven_nodes;

pub use devices::UsedDevice;
pub use input::{DoctorInput, PostgresSettings, ServerMemory};
