//! Residency: the node of every page of a set of processes, each page counted once and none
//! touched.
#![forbid(unsafe_code)]

pub mod capture;
mod data_files;
mod frames;
mod gaps;
mod inspect;
pub mod instances;
mod kind;
mod layout;
mod looked;
mod nearness;
pub mod numa_maps;
mod numa_maps_method;
mod object_part;
mod objects;
mod own_memory;
mod page_runs;
mod page_set;
mod pagemap_method;
mod policies;
mod pool_bound;
mod private_memory;
mod process_maps;
mod processes;
mod range;
mod relation_sums;
mod sampled_object;
mod sampling;
mod sysv_table;
mod tally;
mod task_policy;
mod threads;
mod unmapped;

pub use frames::{Frames, Lookup};
pub use inspect::{InspectError, Options, inspect, inspect_members};
pub use kind::kind_of;
pub use layout::node_of_pool;
pub use own_memory::{own_memory, shared_memory};
pub use page_set::PageSet;
pub use process_maps::has_pages;
pub use range::{RangePages, nodes_of_range};
pub use relation_sums::RelationSums;
