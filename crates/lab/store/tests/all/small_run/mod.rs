//! A small run with something in every field, the same every time it is made.

use std::collections::BTreeMap;

use model::*;

/// The run; it has two cases, three trials of different outcomes and one skipped case.
pub(crate) fn small_run(id: &str) -> Run {
    Run {
        id: id.to_string(),
        experiment: "local-vs-remote".to_string(),
        question: "What does it cost when the SGA lies on another node?".to_string(),
        definition: "name = \"local-vs-remote\"\n".to_string(),
        started_at: "2026-11-21T03:04:05+00:00".to_string(),
        status: RunStatus::Bounded,
        machine: Some(machine()),
        seed: u64::MAX,
        metric: Metric::LogicalReadsPerSecond,
        baseline: "local".to_string(),
        asks_about_memory: true,
        window_s: Some(0.5),
        calibration: Some(Calibration {
            work_unit: 64,
            plateau_reached: true,
            points: vec![CalibrationPoint {
                work_unit: 64,
                logical_reads_per_s: 1_234_567.25,
            }],
        }),
        cases: vec![
            Case {
                plan: plan("local", "0"),
                trials: vec![trial(0), trial(1)],
            },
            Case {
                plan: plan("remote", "1"),
                trials: vec![trial(2)],
            },
        ],
        skipped: vec![Skipped {
            case: "far".to_string(),
            reason: "this machine has 2 nodes, and the case needs 3".to_string(),
        }],
    }
}

/// A session of `numalab try`.
pub(crate) fn live_run(id: &str) -> LiveRun {
    LiveRun {
        id: id.to_owned(),
        label: None,
        started_at: "2026-11-21T03:45:12+01:00".to_owned(),
        status: RunStatus::Settled,
        machine: machine(),
        measured: LiveMeasured::Try(TryReport {
            target: "redis:6379".to_owned(),
            window_s: 20.0,
            seed: u64::MAX,
            placements: vec![TriedPlacement {
                placement: "interleave".to_owned(),
                ratio: Some(1.1),
                log_ratios: vec![0.1, -0.2],
                ..TriedPlacement::default()
            }],
            ..TryReport::default()
        }),
    }
}

fn machine() -> Machine {
    let node = |id, cpus: &str| Node {
        id: NodeId(id),
        cpus: cpus.parse().expect("a list"),
        has_unknown_cpus: false,
        memory_bytes: Some(8 << 30),
        free_bytes: Some(7 << 30),
        huge_pages: vec![NodeHugePages {
            page_bytes: 2 << 20,
            total: 128,
            free: Some(128),
            surplus: None,
        }],
    };
    Machine {
        host: "example".to_string(),
        kernel: "6.18.0".to_string(),
        cpu_model: Some("Example CPU".to_string()),
        hypervisor: None,
        emulated: Some(false),
        numalab: "0.1.0".to_string(),
        last_level_cache: None,
        working_set: None,
        topology: Topology {
            nodes: vec![node(0, "0-1"), node(1, "2-3")],
            distances: Some(vec![vec![Some(10), Some(21)], vec![Some(21), Some(10)]]),
            cpus: "0-3".parse().expect("a list"),
            packages: Some(2),
            cores: Some(4),
            ..Topology::default()
        },
    }
}

fn plan(name: &str, memory_nodes: &str) -> CasePlan {
    let memory_nodes: NodeSet = memory_nodes.parse().expect("a list");
    CasePlan {
        name: name.to_string(),
        about: format!("SGA on node {memory_nodes}"),
        placement: Placement {
            cpus: Some("0-1".parse().expect("a list")),
            memory_nodes: Some(memory_nodes.clone()),
            mechanism: Mechanism::Affinity,
        },
        work: Work::LogicalReads(LogicalReads {
            sga: SgaPlan {
                cache_bytes: 256 << 20,
                backing: Backing::Memfd,
                page_bytes: 4096,
                allocation: Allocation::Bind(memory_nodes),
            },
            load: LoadPlan {
                sessions: 3,
                cpu_count: Some(2),
                ..LoadPlan::default()
            },
        }),
    }
}

/// The trial of this number: valid, invalid and failed in turn.
pub(crate) fn trial(number: u32) -> Trial {
    let outcome = match number % 3 {
        0 => Outcome::Valid,
        1 => Outcome::Invalid("1 page of the SGA lies on node 1".to_string()),
        _ => Outcome::Failed("session 2 was killed by signal 9".to_string()),
    };
    let failed = matches!(outcome, Outcome::Failed(_));
    Trial {
        round: number,
        outcome,
        measured: (!failed).then(|| measured(number)),
        report: None,
        evidence: evidence(),
        warnings: vec![format!("warning {number}")],
    }
}

fn measured(number: u32) -> Measured {
    let wait = Wait {
        count: 160,
        total_s: 0.498_765_432_1,
    };
    let sessions = SessionFigures {
        sessions: 3,
        work_unit: 64,
        statements: 9_876,
        logical_reads: 632_064,
        physical_reads: 0,
        updates: None,
        time: TimeModel {
            db_time_s: 1.500_000_369,
            db_cpu_s: 0.998,
            cpu_wait_s: 0.001,
            kernel_cpu_s: None,
            waits: BTreeMap::from([(WAIT_CPU_QUANTUM.to_string(), wait)]),
        },
        samples: vec![Sample {
            at_s: 0.1,
            logical_reads_per_s: 1_264_000.5,
            ..Sample::default()
        }],
        statement_latency: LatencySummary {
            p50_ns: Some(90_000),
            p99_ns: Some(200_000_000),
            max_ns: None,
        },
    };
    Measured {
        value: 1_264_128.0 + f64::from(number) / 3.0,
        window_s: Some(0.500_000_123),
        warm_up_s: Some(0.1),
        sessions: Some(sessions),
        kernel: Some(kernel_figures()),
    }
}

fn kernel_figures() -> KernelFigures {
    KernelFigures {
        windows: vec![81.25, 80.5],
        overlaps: vec![0.99],
        working_set_bytes: 128 << 20,
        tlb_group_pages: Some(64),
        curve: vec![CurveFigures {
            bytes: 1024,
            windows: vec![1.25],
        }],
        transfers: vec![TransferFigures {
            from: CpuId(0),
            to: CpuId(2),
            windows: vec![51.5],
        }],
        load_bytes_per_s: Some(1e9),
        checksum: u64::MAX,
        timer: TimerFacts {
            source: TimerSource::Tsc,
            ticks_per_s: 2.5e9,
            precision_ns: 0.4,
            overhead_ns: 8.25,
        },
    }
}

fn evidence() -> Evidence {
    let pool = HugePoolEvidence {
        node: NodeId(0),
        page_bytes: 2 << 20,
        total: 128,
        free: 128,
    };
    let all_on_0 = BTreeMap::from([(NodeId(0), 256 << 20)]);
    Evidence {
        memory_of: None,
        parked: None,
        took_s: None,
        server_memory: None,
        number_read: None,
        sga: Some(SgaEvidence {
            name: "/memfd:numalab (deleted)".to_string(),
            page_bytes: 4096,
            policy: "bind:0".to_string(),
            bytes_by_node_before: all_on_0.clone(),
            bytes_by_node_after: all_on_0,
            bytes_without_node: 0,
            ..SgaEvidence::default()
        }),
        sessions: vec![SessionEvidence {
            pid: 4711,
            cpus_allowed: "0-1".parse().expect("a list"),
            memory_nodes_allowed: "0".parse().expect("a list"),
            cpus_used: "0".parse().expect("a list"),
            policy: "bind:0".to_string(),
            bytes_read_by_node: Default::default(),
            own_memory: None,
        }],
        writers: Vec::new(),
        measurements: vec![MeasurementEvidence {
            cpus_allowed: "1".parse().expect("a list"),
            cpus_used: "1".parse().expect("a list"),
            memory_before: memory_evidence(),
            memory_after: memory_evidence(),
            run_queue_wait_ns: Some(7),
            numa_pages_migrated: None,
            steal_s: Some(0.0),
        }],
        group: Some(GroupEvidence {
            path: "/sys/fs/cgroup/numalab".to_string(),
            cgroup_version: 2,
            cpus: "0-1".parse().expect("a list"),
            memory_nodes: "0".parse().expect("a list"),
        }),
        huge_pages_before: vec![pool],
        huge_pages_during: vec![pool],
        numa_pages_migrated: Some(0),
        steal_s: Some(0.01),
        other_cpu_s: None,
        rows_verified: 632_064,
        server: None,
        counters: Vec::new(),
        cpu_quota: None,
        running_sessions_max: Some(2),
    }
}

fn memory_evidence() -> MemoryEvidence {
    MemoryEvidence {
        page_kind: PageKind::Transparent,
        page_bytes: 2 << 20,
        policy: "bind:1".to_string(),
        bytes_by_node: BTreeMap::from([(NodeId(1), 128 << 20)]),
        bytes_without_node: 0,
    }
}
