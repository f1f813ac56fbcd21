//! What numalab must do on real kernels with many nodes. A check is a list of commands and a
//! judgement of their answers; the checks of one shape and cgroup version share a boot.

mod backported_kernel;
mod balance;
mod balance_kills;
mod bandwidth;
mod boot;
mod capabilities;
mod check;
mod doctor;
pub(crate) mod firmware_table;
mod group_systemd;
mod held;
mod inspect;
mod inspect_instances;
mod inspect_postgres;
mod kernel_account;
pub(crate) mod kills;
mod latency;
mod latency_trouble;
mod local_vs_remote;
mod look;
mod mariadb_relations;
mod move_memory;
mod move_postgres;
mod numa_maps;
mod old_kernel;
mod own_memory;
mod pages;
mod placements;
mod placing;
mod relations;
mod residency;
mod run_document;
mod scenario;
mod section;
mod shape;
mod streams;
mod table;
mod tests_of_binary;
mod undo_beside_move;
mod weights;

pub(crate) use boot::{Boot, Judged, boots, run};
pub(crate) use check::{Check, Need};
