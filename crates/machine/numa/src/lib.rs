//! NUMA: what this machine is, what was requested of it, and what the kernel reports as the result.
#![forbid(unsafe_code)]

pub mod bind;
pub mod capture;
mod change;
mod change_words;
mod claim;
mod contradictions;
mod cpu_limit;
pub mod cpu_quota;
pub mod doctor;
mod error;
pub mod evidence;
pub mod fitness;
pub mod group;
pub mod groups;
pub mod hierarchy;
pub mod hops;
pub mod instances;
pub mod journal;
pub mod kernel_file;
mod limits;
pub mod memory_limit;
pub mod mount_policy;
pub mod moving;
pub mod numa_maps;
mod object_words;
pub mod placement;
pub mod pools;
mod process_identity;
pub mod residency;
pub mod scratch_cluster;
mod thing;
pub mod topology;
mod topology_caches;
mod topology_cores;
mod topology_distances;
mod topology_gaps;
mod topology_node_cpus;
mod topology_nodes;
mod topology_packages;
mod undo;

pub use contradictions::{contradictions, own_memory_contradictions, placement_contradictions};
pub use error::Error;
pub use object_words::ObjectWords;
pub use process_identity::{Origin, ProcessIdentity};
pub use undo::{Undone, undo};
