//! Figures of one machine in the words of schedulers and inventories. docs/fleet.md says which
//! figure goes where.

mod facts;
mod kubelet;
mod labels;
mod resource_topology;
mod slurm;

pub use facts::{Facts, Figure};
pub use kubelet::{Reserved, reserved_memory};
pub use labels::{ansible_facts, feature_file};
pub use resource_topology::resource_topology;
pub use slurm::node_lines;
