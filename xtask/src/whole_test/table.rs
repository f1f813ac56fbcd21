//! Which tests of the binary run in which guest, and which tests take turns because they take long.

use crate::arguments::{CgroupVersion, GuestKernel};

/// A guest in which tests of the binary run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Boot {
    /// Its machine.
    pub shape: &'static str,
    /// Its cgroup version.
    pub cgroup: CgroupVersion,
    /// Its kernel.
    pub kernel: GuestKernel,
    /// Whether it boots with distances that numalab made in another guest.
    pub has_made_distances: bool,
    /// The beginnings of the names of tests that run in it.
    pub tests: &'static [&'static str],
}

const fn boot(shape: &'static str, tests: &'static [&'static str]) -> Boot {
    Boot {
        shape,
        cgroup: CgroupVersion::V2,
        kernel: GuestKernel::Stable,
        has_made_distances: false,
        tests,
    }
}

/// Every guest.
pub(crate) const BOOTS: &[Boot] = &[
    boot(
        "two-node",
        &[
            "balancing::",
            "bind::",
            "data_files::",
            "first_touch_by_node::",
            "groups::",
            "kernel_agrees::",
            "moving::",
            "threads::",
            "trying_quotas::",
            "watching::",
            "guests::capabilities::changes_",
            "guests::capabilities::looks_",
            "guests::capabilities::runs_",
            "guests::cures::",
            "guests::doctor::",
            "guests::emulated_costs::",
            "guests::kills_of_a_sequence::",
            "guests::kills_of_sessions::",
            "guests::own_memory::",
            "guests::predictions::",
            "guests::several_servers::",
            "guests::tries::",
            "guests::weights::a_kernel_without_",
        ],
    ),
    boot(
        "four-node-ring",
        &[
            "kernel_agrees::",
            "guests::cured_unit::",
            "guests::cures::",
            "guests::emulated_costs::",
            "guests::firmware_table::a_table_",
            "guests::group_systemd::",
            "guests::kills_of_balance::",
            "guests::mariadb_relations::",
            "guests::moves::",
            "guests::moves_beside_undos::",
            "guests::pages::",
            "guests::placements::",
            "guests::placing::",
            "guests::postgres_relations::",
            "guests::predictions::",
            "guests::refused_moves::",
            "guests::residency::a_worker_",
            "guests::residency::huge_pages_of_a_memfd_are_where_requested_on_four_",
            "guests::residency::huge_pages_of_a_segment_are_where_requested_on_four_",
            "guests::residency::small_pages_of_a_file_",
            "guests::residency::small_pages_of_a_memfd_are_where_requested_on_four_",
            "guests::residency::small_pages_of_a_segment_",
            "guests::several_servers::",
            "guests::shared_page_tables::",
            "guests::units::",
        ],
    ),
    boot(
        "eight-node",
        &[
            "guests::inspect::",
            "guests::inspect_instances::",
            "guests::inspect_postgres::",
            "guests::local_vs_remote::",
            "guests::moves_of_postgres::",
        ],
    ),
    boot(
        "memory-only-node",
        &[
            "kernel_agrees::",
            "memory_only_node::",
            "guests::bandwidth::",
            "guests::latency::",
        ],
    ),
    boot("cpu-only-node", ON_ODD_SHAPES),
    boot("sparse", ON_ODD_SHAPES),
    boot("one-node", &["kernel_agrees::"]),
    boot("counted-two-node", &["guests::doses::", "guests::tables::"]),
    boot("counted-four-node", &["guests::tables::"]),
    boot("counted-eight-node", &["guests::tables::"]),
    boot(
        "large-memory",
        &["kernel_agrees::", "guests::residency::largest_pages_"],
    ),
    boot(
        "thirty-two-node",
        &[
            "kernel_agrees::",
            "guests::latency::every_pair_",
            "guests::residency::huge_pages_of_a_segment_are_where_requested_on_many_",
            "guests::residency::small_pages_of_a_memfd_are_where_requested_on_many_",
        ],
    ),
    Boot {
        kernel: GuestKernel::Backports,
        ..boot(
            "two-node",
            &[
                "first_touch_by_node::",
                "kernel_agrees::",
                "guests::kernels::the_newer_",
                "guests::weights::memory_moves_",
                "guests::weights::the_doctor_",
                "guests::weights::weights_",
            ],
        )
    },
    Boot {
        kernel: GuestKernel::Backports,
        ..boot("four-node-ring", &["guests::balance_of_postgres::"])
    },
    Boot {
        kernel: GuestKernel::Oldstable,
        ..boot(
            "two-node",
            &[
                "first_touch_by_node::",
                "kernel_agrees::",
                "moving::",
                "guests::kernels::the_older_",
            ],
        )
    },
    Boot {
        cgroup: CgroupVersion::V1,
        ..boot(
            "four-node-ring",
            &[
                "guests::placements::the_kernel_has_placements_of_groups_",
                "guests::placements::trials_in_groups_",
                "guests::placing::memory_follows_a_group_",
                "guests::placing::memory_lies_where_each_policy_puts_it_in_a_group",
                "guests::placing::a_program_with_",
                "guests::placing::what_the_kernel_or_",
            ],
        )
    },
    Boot {
        has_made_distances: true,
        ..boot("four-node-ring", MADE_DISTANCES)
    },
    Boot {
        has_made_distances: true,
        kernel: GuestKernel::Backports,
        ..boot("four-node-ring", MADE_DISTANCES)
    },
];

/// What holds whatever the shape, and where a shape is odd.
const ON_ODD_SHAPES: &[&str] = &[
    "kernel_agrees::",
    "guests::bandwidth::",
    "guests::latency::every_pair_",
    "guests::latency::nodes_that_the_affinity_",
];
/// What holds where the firmware's distances were replaced.
const MADE_DISTANCES: &[&str] = &["guests::firmware_table::a_guest_with_"];

/// Tests that take so long that the whole test runs a part of them each day ([`super::turn`]), and
/// the seconds that they take.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Long {
    /// The guest by its name, or `host`.
    pub place: &'static str,
    /// The beginning of their names; all tests of the guest if it is empty.
    pub test: &'static str,
    /// The seconds that they take, the boot included.
    pub seconds: u64,
}

const fn long(place: &'static str, test: &'static str, seconds: u64) -> Long {
    Long {
        place,
        test,
        seconds,
    }
}

/// The name of this machine in [`LONG`].
pub(crate) const HOST: &str = "host";

/// Every test that takes turns. The seconds are those of a machine with nothing else to do; tests
/// of this machine share it with three others, and count half.
pub(crate) const LONG: &[Long] = &[
    long(HOST, "recording::records_before_", 32),
    long(HOST, "fleet_by_ansible::", 25),
    long(HOST, "trying::whatever_ends_", 15),
    long(HOST, "trying::the_current_placement_", 12),
    long(HOST, "trying_quotas::a_quota_is_tried_", 20),
    long(HOST, "stores_of_many::what_is_recorded_", 15),
    long(HOST, "server_runs::a_server_can_be_fetched_", 13),
    long(HOST, "server_runs::with_mariadb::is_valid_", 9),
    long(HOST, "server_runs::with_valkey::is_valid_", 9),
    long(HOST, "large_matrices::", 20),
    long(HOST, "named_cache::the_working_set_", 15),
    long(HOST, "many_exporters::", 8),
    long(HOST, "postgres_logins::root_is_let_in_", 9),
    long(HOST, "postgres_logins::a_password_on_", 8),
    long(HOST, "own_memory_loads::every_load_", 9),
    long(HOST, "emulated_cost::the_reads_of_", 8),
    long(HOST, "first_minutes::", 170),
    long(HOST, "fleets::thirty_faults_", 24),
    long(HOST, "pages_in_a_browser::every_picture_", 20),
    long(HOST, "pages_in_a_browser::machines_", 29),
    long(HOST, "pages_in_a_browser::runs_", 16),
    long(HOST, "postgres_connected::", 45),
    long(
        HOST,
        "privileges::every_experiment_runs_as_listed_for_",
        116,
    ),
    long(
        HOST,
        "privileges::every_experiment_runs_as_listed_with",
        158,
    ),
    long(
        HOST,
        "privileges::every_experiment_runs_as_listed_behind_",
        50,
    ),
    long(HOST, "privileges::every_experiment_runs_as_listed_in_", 14),
    long(HOST, "privileges::", 30),
    long(HOST, "stopped_servers::", 38),
    long(HOST, "updates::", 34),
    long("two-node", "balancing::", 130),
    long("two-node", "guests::capabilities::changes_", 150),
    long("two-node", "guests::capabilities::looks_", 25),
    long("two-node", "guests::capabilities::runs_", 35),
    long("two-node", "guests::cures::a_heap_", 50),
    long("two-node", "guests::cures::a_mariadb_", 60),
    long("two-node", "guests::cures::a_postgres_", 70),
    long("two-node", "guests::cures::a_redis_", 10),
    long("two-node", "guests::doctor::", 40),
    long("two-node", "guests::emulated_costs::", 95),
    long("two-node", "guests::kills_of_a_sequence::", 40),
    long("two-node", "guests::kills_of_sessions::", 105),
    long("two-node", "guests::own_memory::", 55),
    long("two-node", "guests::predictions::", 30),
    long("two-node", "guests::tries::", 180),
    long("two-node", "threads::", 50),
    long("two-node", "trying_quotas::", 45),
    long("two-node", "watching::", 55),
    long("two-node-backports", "", 45),
    long("two-node-oldstable", "", 80),
    long("four-node-ring", "guests::cured_unit::", 50),
    long("four-node-ring", "guests::cures::a_heap_", 50),
    long("four-node-ring", "guests::cures::a_mariadb_", 40),
    long("four-node-ring", "guests::cures::a_postgres_", 60),
    long("four-node-ring", "guests::cures::a_redis_", 15),
    long("four-node-ring", "guests::emulated_costs::", 95),
    long("four-node-ring", "guests::group_systemd::", 40),
    long("four-node-ring", "guests::kills_of_balance::", 35),
    long("four-node-ring", "guests::mariadb_relations::", 30),
    long("four-node-ring", "guests::moves::", 55),
    long("four-node-ring", "guests::moves_beside_undos::", 15),
    long("four-node-ring", "guests::pages::", 20),
    long("four-node-ring", "guests::placements::", 120),
    long("four-node-ring", "guests::placing::a_program_", 10),
    long("four-node-ring", "guests::placing::memory_follows_", 10),
    long("four-node-ring", "guests::placing::what_", 10),
    long("four-node-ring", "guests::postgres_relations::", 70),
    long("four-node-ring", "guests::predictions::", 30),
    long("four-node-ring", "guests::refused_moves::", 20),
    long("four-node-ring", "guests::residency::", 85),
    long("four-node-ring", "guests::shared_page_tables::", 20),
    long("four-node-ring", "guests::units::", 70),
    long("four-node-ring-backports", "", 60),
    long("four-node-ring-cgroup-v1", "", 90),
    long("four-node-ring-made-distances", "", 20),
    long("four-node-ring-made-distances-backports", "", 10),
    long("eight-node", "guests::inspect::", 40),
    long("eight-node", "guests::inspect_instances::", 60),
    long("eight-node", "guests::inspect_postgres::", 70),
    long("eight-node", "guests::local_vs_remote::", 60),
    long("eight-node", "guests::moves_of_postgres::", 50),
    long("thirty-two-node", "", 105),
    long("memory-only-node", "", 110),
    long("cpu-only-node", "", 45),
    long("sparse", "", 60),
    long("one-node", "", 20),
    long("counted-two-node", "guests::doses::", 140),
    long("counted-two-node", "guests::tables::", 155),
    long("counted-four-node", "", 175),
    long("counted-eight-node", "", 200),
    long("large-memory", "", 130),
];

/// Tests that `cargo xtask check` leaves to the whole test, by the beginnings of their titles: each
/// of them, or all of a module together, takes more than ten seconds.
pub(crate) const SLOW: &[&str] = &[
    "experiment memory::schedule::tests::thirty_two_",
    "numalab alternation::",
    "numalab binding_vs_caging::",
    "numalab captures::a_capture_goes_to_stdout_",
    "numalab containers::",
    "numalab contention::sums_",
    "numalab emulated_cost::",
    "numalab explanations::",
    "numalab first_minutes::",
    "numalab fleet_by_ansible::",
    "numalab fleet_plans::",
    "numalab interrupts::",
    "numalab kills::whenever_",
    "numalab large_matrices::",
    "numalab lost_terminals::",
    "numalab many_exporters::",
    "numalab memory::",
    "numalab named_cache::",
    "numalab other_programs::",
    "numalab own_memory_loads::every_load_",
    "numalab pages_in_a_browser::every_picture_",
    "numalab pages_in_a_browser::machines_",
    "numalab pages_in_a_browser::runs_",
    "numalab parallel_scans::every_scan_",
    "numalab postgres_connected::",
    "numalab postgres_logins::",
    "numalab privileges::",
    "numalab process_deaths::",
    "numalab prometheus::",
    "numalab recording::",
    "numalab server_runs::",
    "numalab serving_in_a_browser::",
    "numalab side_by_side::",
    "numalab stores_of_many::",
    "numalab trying::",
    "numalab trying_quotas::",
    "numalab updates::",
    "numalab watching_in_a_terminal::",
    "store lookup::",
    "store servers::",
    "switchback session::",
    // They boot a guest.
    "xtask what_a_command_writes_",
    "xtask a_killed_command_",
];

impl Boot {
    /// The name in reports: the shape, with what is not usual.
    pub(crate) fn name(&self) -> String {
        let cgroup = match self.cgroup {
            CgroupVersion::V1 => "-cgroup-v1",
            CgroupVersion::V2 => "",
        };
        let kernel = match self.kernel {
            GuestKernel::Backports => "-backports",
            GuestKernel::Oldstable => "-oldstable",
            GuestKernel::Stable => "",
            GuestKernel::Arm64 => "-arm64",
            GuestKernel::Arm64In16k => "-arm64-16k",
        };
        let distances = match self.has_made_distances {
            true => "-made-distances",
            false => "",
        };
        format!("{}{distances}{cgroup}{kernel}", self.shape)
    }

    /// Whether a test of the binary runs in it.
    pub(crate) fn has(&self, test: &str) -> bool {
        self.tests.iter().any(|start| test.starts_with(start))
    }
}
