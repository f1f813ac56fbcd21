//! Plans and requests for tests.

use model::{
    Allocation, Backing, CasePlan, LoadPlan, LogicalReads, Machine, Metric, Placement, SgaPlan,
    Topology, Work,
};

use super::request::RunRequest;
use crate::Plan;

/// Returns a case of four sessions without a placement.
pub(crate) fn case(name: &str) -> CasePlan {
    CasePlan {
        name: name.to_owned(),
        about: format!("The case {name}."),
        placement: Placement::inherited(),
        work: Work::LogicalReads(LogicalReads {
            sga: SgaPlan {
                cache_bytes: 64 << 20,
                backing: Backing::Memfd,
                page_bytes: 4096,
                allocation: Allocation::OsDefault,
            },
            load: LoadPlan {
                sessions: 4,
                cpu_count: None,
                ..LoadPlan::default()
            },
        }),
    }
}

/// Returns a request to compare these cases; the first is the baseline.
pub(crate) fn request(cases: &[&str], seed: u64) -> RunRequest {
    RunRequest {
        id: "test-1".to_owned(),
        started_at: "2026-11-21T12:00:00+00:00".to_owned(),
        machine: Machine {
            host: "test".to_owned(),
            kernel: "6.18.0".to_owned(),
            cpu_model: None,
            hypervisor: None,
            emulated: None,
            numalab: "0.1.0".to_owned(),
            last_level_cache: None,
            working_set: None,
            topology: Topology::default(),
        },
        plan: Plan {
            experiment: "test".to_owned(),
            question: "Which is faster?".to_owned(),
            definition: String::new(),
            metric: Metric::LogicalReadsPerSecond,
            baseline: cases[0].to_owned(),
            asks_about_memory: false,
            cases: cases.iter().map(|name| case(name)).collect(),
            skipped: Vec::new(),
            notes: Vec::new(),
        },
        seed,
        window_s: 2.0,
        warm_up_s_min: 1.0,
        warm_up_s_max: 5.0,
        trials_min: 5,
        trials_max: 12,
        time_bound_s: None,
        alternates: false,
        leaves_out: true,
        half_width_target: 0.02,
    }
}
