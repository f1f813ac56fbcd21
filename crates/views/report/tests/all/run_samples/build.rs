//! Building blocks of the samples: runs, cases, machines, evidence.

use std::collections::BTreeMap;

use model::*;

use super::ids;

pub(super) fn chase() -> Work {
    Work::MemoryLatency(MemoryLatency {
        home_cpu: CpuId(8),
        awake_cpus: ids::<CpuId>("8,16").into(),
        page_kind: None,
        working_set_bytes: 128 << 20,
        by_tlb_groups: true,
        first_visits: false,
        windows: 51,
        window_ns: 200_000,
    })
}

/// Returns a case of a measuring kernel on CPU 1 with memory of one node.
pub(super) fn kernel_case(name: &str, work: Work, node: u32, values: &[f64]) -> Case {
    let memory = MemoryEvidence {
        page_kind: PageKind::Transparent,
        page_bytes: 2 << 20,
        policy: format!("bind:{node}"),
        bytes_by_node: BTreeMap::from([(NodeId(node), 128 << 20)]),
        bytes_without_node: 0,
    };
    let evidence = Evidence {
        measurements: vec![MeasurementEvidence {
            cpus_allowed: ids("1"),
            cpus_used: ids("1"),
            memory_before: memory.clone(),
            memory_after: memory,
            run_queue_wait_ns: Some(0),
            numa_pages_migrated: Some(0),
            steal_s: Some(0.0),
        }],
        numa_pages_migrated: Some(0),
        steal_s: Some(0.0),
        other_cpu_s: Some(0.0),
        ..Evidence::default()
    };
    let trial = |(round, value): (u32, &f64)| Trial {
        round,
        outcome: Outcome::Valid,
        measured: Some(Measured {
            value: *value,
            window_s: Some(0.0102),
            warm_up_s: None,
            sessions: None,
            kernel: Some(kernel_figures(*value)),
        }),
        report: None,
        evidence: evidence.clone(),
        warnings: Vec::new(),
    };
    Case {
        plan: CasePlan {
            name: name.to_string(),
            about: format!("CPU 1 and memory of node {node}"),
            placement: Placement {
                cpus: Some(ids("1")),
                memory_nodes: Some(ids(&node.to_string())),
                mechanism: Mechanism::Affinity,
            },
            work,
        },
        trials: (0..).zip(values).map(trial).collect(),
    }
}

pub(super) fn kernel_figures(value: f64) -> KernelFigures {
    KernelFigures {
        windows: vec![value * 0.999, value, value * 1.001],
        overlaps: Vec::new(),
        working_set_bytes: 128 << 20,
        tlb_group_pages: Some(64),
        curve: Vec::new(),
        transfers: Vec::new(),
        load_bytes_per_s: None,
        checksum: 7,
        timer: TimerFacts {
            source: TimerSource::Tsc,
            ticks_per_s: 2.5e9,
            precision_ns: 0.4,
            overhead_ns: 8.0,
        },
    }
}

pub(super) fn empty(experiment: &str, baseline: &str) -> Run {
    Run {
        id: "b7f3".to_string(),
        experiment: experiment.to_string(),
        question: String::new(),
        definition: format!("name = \"{experiment}\"\n"),
        started_at: "2026-11-21T03:04:05+00:00".to_string(),
        status: RunStatus::Settled,
        machine: Some(machine()),
        seed: 42,
        metric: Metric::LogicalReadsPerSecond,
        baseline: baseline.to_string(),
        asks_about_memory: false,
        window_s: Some(5.0),
        calibration: Some(Calibration {
            work_unit: 64,
            plateau_reached: true,
            points: [
                (16, 980_000.5),
                (32, 1_190_000.0),
                (64, 1_260_000.0),
                (128, 1_262_000.0),
            ]
            .map(|(work_unit, logical_reads_per_s)| CalibrationPoint {
                work_unit,
                logical_reads_per_s,
            })
            .to_vec(),
        }),
        cases: Vec::new(),
        skipped: Vec::new(),
    }
}

pub(super) fn machine_of(run: &mut Run) -> &mut Machine {
    run.machine.as_mut().unwrap()
}

pub(super) fn machine() -> Machine {
    Machine {
        host: "dbserver".to_string(),
        kernel: "6.18.0".to_string(),
        cpu_model: Some("Example CPU 4850 @ 2.00GHz".to_string()),
        hypervisor: None,
        emulated: Some(false),
        numalab: "0.1.0".to_string(),
        last_level_cache: None,
        working_set: None,
        topology: Topology {
            nodes: vec![Node {
                id: NodeId(0),
                cpus: ids("0-3"),
                memory_bytes: Some(16 << 30),
                free_bytes: Some(12 << 30),
                ..Node::default()
            }],
            cpus: ids("0-3"),
            packages: Some(1),
            cores: Some(4),
            memory_bytes: Some(16 << 30),
            ..Topology::default()
        },
    }
}

/// Sets the evidence and the time model of sessions that were bound.
pub(super) fn bound(plan: &mut CasePlan, evidence: &mut Evidence, time: &mut TimeModel) {
    plan.placement.cpus = Some(ids("1"));
    plan.placement.mechanism = Mechanism::Group;
    evidence.group = Some(GroupEvidence {
        path: "/sys/fs/cgroup/numalab-b7f3".to_string(),
        cgroup_version: 2,
        cpus: ids("1"),
        memory_nodes: ids("0"),
    });
    for session in &mut evidence.sessions {
        session.cpus_allowed = ids("1");
        session.cpus_used = ids("1");
    }
    time.db_cpu_s = 4.981;
    time.cpu_wait_s = 10.007;
}

/// Sets the evidence and the time model of sessions that were caged.
pub(super) fn caged(plan: &mut CasePlan, evidence: &mut Evidence, time: &mut TimeModel) {
    if let Work::LogicalReads(work) = &mut plan.work {
        work.load.cpu_count = Some(1);
    }
    evidence.running_sessions_max = Some(1);
    time.db_cpu_s = 4.902;
    time.cpu_wait_s = 0.012;
    time.waits
        .insert(WAIT_CPU_QUANTUM.to_string(), wait(98, 10.061));
}

/// Returns a few bytes that differ between names: cases with equal requests would be controls of
/// each other.
pub(super) fn different(name: &str) -> u64 {
    let bytes = name.bytes().enumerate();
    bytes
        .map(|(place, byte)| (place as u64 + 1) * u64::from(byte))
        .sum::<u64>()
        % 1021
}

pub(super) fn wait(count: u64, total_s: f64) -> Wait {
    Wait { count, total_s }
}

pub(super) fn case(
    name: &str,
    about: &str,
    rates: &[f64],
    placed: fn(&mut CasePlan, &mut Evidence, &mut TimeModel),
) -> Case {
    let mut plan = CasePlan {
        name: name.to_string(),
        about: about.to_string(),
        placement: Placement {
            cpus: Some(ids("0-2")),
            memory_nodes: None,
            mechanism: Mechanism::Affinity,
        },
        work: Work::LogicalReads(LogicalReads {
            sga: SgaPlan {
                cache_bytes: (256 << 20) + different(name),
                backing: Backing::Memfd,
                page_bytes: 4096,
                allocation: Allocation::Bind(ids("0")),
            },
            load: LoadPlan {
                sessions: 3,
                cpu_count: None,
                ..LoadPlan::default()
            },
        }),
    };
    let mut evidence = evidence();
    let mut time = TimeModel {
        db_time_s: 15.000_3,
        ..TimeModel::default()
    };
    placed(&mut plan, &mut evidence, &mut time);
    let trials = (0..).zip(rates);
    let trials = trials.map(|(round, rate)| Trial {
        round,
        outcome: Outcome::Valid,
        measured: Some(measured(*rate, time.clone())),
        report: None,
        evidence: evidence.clone(),
        warnings: Vec::new(),
    });
    let trials = trials.collect();
    Case { plan, trials }
}

pub(super) fn measured(rate: f64, time: TimeModel) -> Measured {
    let sessions = SessionFigures {
        sessions: 3,
        work_unit: 64,
        statements: (rate * 5.0 / 64.0) as u64,
        logical_reads: (rate * 5.0) as u64,
        physical_reads: 0,
        updates: None,
        time,
        samples: vec![Sample {
            at_s: 1.0,
            logical_reads_per_s: rate,
            ..Sample::default()
        }],
        statement_latency: LatencySummary {
            p50_ns: Some(50_000),
            p99_ns: Some(200_000_000),
            max_ns: Some(300_000_000),
        },
    };
    Measured {
        value: rate,
        window_s: Some(5.0),
        warm_up_s: Some(1.0),
        sessions: Some(sessions),
        kernel: None,
    }
}

pub(super) fn evidence() -> Evidence {
    let all_on_0 = BTreeMap::from([(NodeId(0), 256 << 20)]);
    let session = |pid| SessionEvidence {
        pid,
        cpus_allowed: ids("0-2"),
        memory_nodes_allowed: ids("0"),
        cpus_used: ids("0-2"),
        policy: "default".to_string(),
        bytes_read_by_node: Default::default(),
        own_memory: None,
    };
    Evidence {
        memory_of: None,
        number_read: None,
        server_memory: None,
        parked: None,
        took_s: None,
        sga: Some(SgaEvidence {
            name: "/memfd:numalab (deleted)".to_string(),
            page_bytes: 4096,
            policy: "bind:0".to_string(),
            bytes_by_node_before: all_on_0.clone(),
            bytes_by_node_after: all_on_0,
            bytes_without_node: 0,
            ..SgaEvidence::default()
        }),
        sessions: (4711..4714).map(session).collect(),
        writers: Vec::new(),
        measurements: Vec::new(),
        group: None,
        huge_pages_before: Vec::new(),
        huge_pages_during: Vec::new(),
        numa_pages_migrated: Some(0),
        steal_s: Some(0.03),
        other_cpu_s: Some(0.05),
        rows_verified: 6_320_000,
        server: None,
        counters: Vec::new(),
        cpu_quota: None,
        running_sessions_max: None,
    }
}
