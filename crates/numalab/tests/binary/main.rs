//! The binary as users run it: real processes, real shared memory, the machine's own cgroups.
//!
//! One file per concept. Every test has its own state folder (`Laboratory`), and most end by
//! checking that numalab left nothing behind on the machine.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a panic is how a test fails"
)]

mod alternation;
mod browser;
mod busy;
mod emulated_cost;
mod environments;
mod experiment_file;
mod exports;
mod figures_of_others;
mod finished;
mod first_minutes;
mod huge_page_pool;
mod laboratory;
mod large_matrices;
mod leftovers;
mod little_memory;
mod pasted;
mod patience;
mod plurals;
mod postgres_server;
mod processes;
mod recording;
mod redis_program;
mod redis_targets;
mod report_pages;
mod reserved_huge_pages;
mod running;
mod scanning;
mod served;
mod terminal;
mod tmux;
mod turns;
mod unmet_need;
mod unpacked_programs;
mod user;

mod bad_input;
mod balancing;
mod bind;
mod binding_vs_caging;
mod captures;
mod containers;
mod contention;
mod data_files;
mod database_memory;
mod dead_targets;
mod explanations;
mod first_touch;
mod first_touch_by_node;
mod fleet_by_ansible;
mod fleet_plans;
mod fleets;
mod groups;
mod guests;
mod help;
mod hold;
mod hostile_mappings;
mod hostile_names;
mod hostile_state_folder;
mod incomplete_machines;
mod inspecting;
mod instances_of_oracle;
mod interrupts;
mod journal;
mod kernel_agrees;
mod kills;
mod lost_terminals;
mod many_exporters;
mod mariadb_bad_input;
mod mariadb_relations;
mod mariadb_server;
mod matrix_files;
mod measuring_kernels;
mod memory;
mod memory_only_node;
mod missing_targets;
mod more_data_than_buffers;
mod more_than_there_is;
mod moving;
mod named_cache;
mod other_backings;
mod other_programs;
mod own_memory_loads;
mod pages_in_a_browser;
mod pages_of_other_sizes;
mod parallel_scans;
mod postgres_connected;
mod postgres_logins;
mod postgres_looks;
mod postgres_relations;
mod predicting;
mod printed_numbers;
mod privileges;
mod process_deaths;
mod process_names;
mod prometheus;
mod reports_of_oracle;
mod same_case_twice;
mod screens;
mod server_runs;
mod serving;
mod serving_in_a_browser;
mod side_by_side;
mod stopped_servers;
mod stores;
mod stores_of_many;
mod streams;
mod sysv_segments;
mod thread_names;
mod threads;
mod trying;
mod trying_quotas;
mod undo_beside_move;
mod unmapped_huge_pages;
mod unprivileged;
mod updates;
mod watching;
mod watching_in_a_terminal;
