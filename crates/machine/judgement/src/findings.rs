//! Findings: one file each, which says when there is one, what it costs, on what evidence, and what
//! fixes it. What several share is elsewhere, in `doctor` and `hops`.
//!
//! A finding has two lines here. A macro would make them one, but rustfmt does not see the files of
//! modules that a macro declares.

mod look;
mod program_text_on_one_node;
mod row;

mod allocations_elsewhere;
mod asymmetric;
mod balancing_in_vain;
mod cpulist_not_honoured;
mod cpulists_overlap;
mod cpus_without_memory;
mod cpuset_forbids;
mod cpuset_narrower_than_policy;
mod cyclops;
mod demotion_leaves_cpuset;
mod devices_far;
mod devices_on_one_node;
mod distances_asymmetric;
mod distances_flat;
mod distances_impossible;
mod far_data_files;
mod far_memory;
mod far_program_text;
mod few_huge_pages;
mod firmware_interleaving;
mod flat_latency;
mod free_memory_movable;
mod hidden_hop;
mod huge_pages_short_on_bound_node;
mod huge_pages_taken;
mod huge_pages_uneven;
mod huge_pages_unused;
mod incomplete_data;
mod instances_unplaced;
mod interleave_not_honoured;
mod interrupts_far;
mod io_threads_far;
mod io_threads_share_cpus;
mod local_not_nearest;
mod local_outlier;
mod mariadb_large_pages_fell_back;
mod mariadb_pool_larger_than_node;
mod mariadb_pool_on_one_node;
mod masks_disagree;
mod memory_far;
mod memory_modules_uneven;
mod memory_only_node_used;
mod memory_skew;
mod memory_taken;
mod node_nearly_full;
mod not_fit;
mod numa_balancing;
mod numa_off;
mod overstated;
mod postgres_helpers_far;
mod postgres_huge_pages_fell_back;
mod postgres_huge_pages_short;
mod postgres_private_memory_interleaved;
mod sga_partly_in_huge_pages;
mod sga_without_policy;
mod snapshots_copy_huge_pages;
mod threads_narrowed;
mod threads_on_first_cpus;
mod threads_outside_given_cpus;
mod transparent_huge_pages;
mod understated;
mod unsteady;
mod zone_reclaim;

pub use look::{coverage_of_doctor, of_bandwidth, of_bind, of_doctor, of_inspect, of_latency};
pub use row::Row;

/// Every finding, in the order in which findings of equal severity are shown.
pub const FINDINGS: &[Row] = &[
    memory_far::ROW,
    instances_unplaced::ROW,
    cyclops::ROW,
    memory_skew::ROW,
    interleave_not_honoured::ROW,
    sga_without_policy::ROW,
    masks_disagree::ROW,
    cpuset_narrower_than_policy::ROW,
    far_program_text::ROW,
    program_text_on_one_node::ROW,
    far_data_files::ROW,
    memory_only_node_used::ROW,
    threads_on_first_cpus::ROW,
    threads_outside_given_cpus::ROW,
    threads_narrowed::ROW,
    io_threads_far::ROW,
    incomplete_data::ROW,
    memory_taken::ROW,
    huge_pages_taken::ROW,
    huge_pages_unused::ROW,
    huge_pages_uneven::ROW,
    huge_pages_short_on_bound_node::ROW,
    sga_partly_in_huge_pages::ROW,
    numa_off::ROW,
    firmware_interleaving::ROW,
    node_nearly_full::ROW,
    free_memory_movable::ROW,
    allocations_elsewhere::ROW,
    hidden_hop::ROW,
    overstated::ROW,
    understated::ROW,
    distances_impossible::ROW,
    distances_asymmetric::ROW,
    distances_flat::ROW,
    asymmetric::ROW,
    local_not_nearest::ROW,
    local_outlier::ROW,
    flat_latency::ROW,
    unsteady::ROW,
    not_fit::ROW,
    devices_far::ROW,
    interrupts_far::ROW,
    devices_on_one_node::ROW,
    numa_balancing::ROW,
    balancing_in_vain::ROW,
    demotion_leaves_cpuset::ROW,
    zone_reclaim::ROW,
    transparent_huge_pages::ROW,
    postgres_huge_pages_fell_back::ROW,
    postgres_huge_pages_short::ROW,
    postgres_private_memory_interleaved::ROW,
    postgres_helpers_far::ROW,
    mariadb_large_pages_fell_back::ROW,
    mariadb_pool_larger_than_node::ROW,
    mariadb_pool_on_one_node::ROW,
    cpulist_not_honoured::ROW,
    io_threads_share_cpus::ROW,
    cpulists_overlap::ROW,
    snapshots_copy_huge_pages::ROW,
    far_memory::ROW,
    cpus_without_memory::ROW,
    memory_modules_uneven::ROW,
    cpuset_forbids::ROW,
    few_huge_pages::ROW,
];
