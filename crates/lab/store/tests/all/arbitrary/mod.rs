//! Strategies for runs with anything in them that their types allow, but numbers that JSON has.

use std::collections::BTreeMap;

use model::*;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

/// Any text: empty, long, wide, with control characters.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z][a-z0-9-]{0,12}",
        1 => any::<String>(),
        1 => "[\u{0}-\u{1f}\u{7f}-\u{9f}\u{202e}\u{200b}é字👩]{0,8}",
        1 => Just("very long ".repeat(40)),
    ]
}

/// Any number that JSON has.
fn number() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    prop_oneof![
        3 => 0.0..1e7,
        1 => NORMAL | SUBNORMAL | ZERO | POSITIVE | NEGATIVE,
    ]
}

fn cpus() -> impl Strategy<Value = CpuSet> {
    vec(0..4096u32, 0..6).prop_map(|ids| ids.into_iter().map(CpuId).collect())
}

fn nodes() -> impl Strategy<Value = NodeSet> {
    vec(0..64u32, 0..6).prop_map(|ids| ids.into_iter().map(NodeId).collect())
}

fn bytes_by_node() -> impl Strategy<Value = BTreeMap<NodeId, u64>> {
    btree_map((0..64u32).prop_map(NodeId), any::<u64>(), 0..4)
}

fn placement() -> impl Strategy<Value = Placement> {
    let mechanism = prop_oneof![Just(Mechanism::Group), Just(Mechanism::Affinity)];
    let parts = (
        prop::option::of(cpus()),
        prop::option::of(nodes()),
        mechanism,
    );
    parts.prop_map(|(cpus, memory_nodes, mechanism)| Placement {
        cpus,
        memory_nodes,
        mechanism,
    })
}

fn sga_plan() -> impl Strategy<Value = SgaPlan> {
    let backing = prop_oneof![
        Just(Backing::Sysv),
        Just(Backing::Memfd),
        Just(Backing::Shm)
    ];
    let allocation = prop_oneof![
        Just(Allocation::OsDefault),
        nodes().prop_map(Allocation::Interleave),
        nodes().prop_map(Allocation::WeightedInterleave),
        nodes().prop_map(Allocation::Bind),
        any::<u32>().prop_map(|node| Allocation::Prefer(NodeId(node))),
        nodes().prop_map(Allocation::PerNode),
    ];
    (any::<u64>(), backing, any::<u64>(), allocation).prop_map(
        |(cache_bytes, backing, page_bytes, allocation)| SgaPlan {
            cache_bytes,
            backing,
            page_bytes,
            allocation,
        },
    )
}

fn work() -> impl Strategy<Value = Work> {
    let load = (any::<u32>(), any::<Option<u32>>());
    let load = load.prop_map(|(sessions, cpu_count)| LoadPlan {
        sessions,
        cpu_count,
        ..LoadPlan::default()
    });
    let reads = (sga_plan(), load).prop_map(|(sga, load)| LogicalReads { sga, load });
    let reads = reads.boxed();
    let counts = (any::<u64>(), any::<u32>(), any::<u64>());
    let chase = (0..4096u32, cpus(), counts, any::<(bool, bool)>());
    let chase = chase.prop_map(
        |(home, awake_cpus, counts, (by_tlb_groups, first_visits))| MemoryLatency {
            home_cpu: CpuId(home),
            awake_cpus: awake_cpus.into(),
            page_kind: by_tlb_groups.then_some(PageKind::Huge),
            working_set_bytes: counts.0,
            by_tlb_groups,
            first_visits,
            windows: counts.1,
            window_ns: counts.2,
        },
    );
    let chase = chase.boxed();
    let thread = (0..4096u32, nodes()).prop_map(|(cpu, nodes)| StreamThreadPlan {
        cpu: CpuId(cpu),
        allocation: Allocation::Bind(nodes),
    });
    let counts = (any::<u64>(), any::<u32>(), any::<u64>());
    let stream = (text(), vec(thread, 0..4), counts);
    let stream = stream.prop_map(|(simd, threads, counts)| StreamWork {
        kernel: StreamKernel::Triad,
        simd,
        threads,
        bytes_per_thread: counts.0,
        page_kind: None,
        windows: counts.1,
        window_ns: counts.2,
    });
    let stream = stream.boxed();
    let loaded = (chase.clone(), stream.clone(), any::<u32>());
    let loaded = loaded.prop_map(|(chase, load, delay)| LoadedLatency { chase, load, delay });
    let curve = any::<(u64, Option<u64>)>().prop_map(|(bytes_max, last_cache_bytes)| DepthCurve {
        home_cpu: CpuId(1),
        page_kind: None,
        bytes_max,
        last_cache_bytes,
    });
    let transfers = any::<(u32, u32)>().prop_map(|(windows, round_trips)| LineTransfers {
        windows,
        round_trips,
    });
    prop_oneof![
        reads.clone().prop_map(Work::LogicalReads),
        (reads, any::<Option<u32>>()).prop_map(on_a_server),
        chase.prop_map(Work::MemoryLatency),
        curve.prop_map(Work::DepthCurve),
        transfers.prop_map(Work::LineTransfers),
        stream.prop_map(Work::Stream),
        loaded.prop_map(Work::LoadedLatency),
        vec(text(), 0..3).prop_map(|files| Work::Imported(ImportedWork {
            in_rounds: files.len() == 1,
            unit: files.first().cloned(),
            files
        })),
    ]
}

fn on_a_server((reads, cpu_quota): (LogicalReads, Option<u32>)) -> Work {
    let reads = ServerReads {
        moved_to: Some(reads.sga.allocation.clone()),
        reads,
        prewarm_cpus: None,
        cpu_quota,
        settings: [("io-threads".to_owned(), "2".to_owned())].into(),
    };
    Work::Server(ServerKind::named("postgres"), reads)
}

fn case_plan() -> impl Strategy<Value = CasePlan> {
    (text(), text(), placement(), work()).prop_map(|(name, about, placement, work)| CasePlan {
        name,
        about,
        placement,
        work,
    })
}

fn sga_evidence() -> impl Strategy<Value = SgaEvidence> {
    let bytes = (bytes_by_node(), bytes_by_node(), any::<u64>());
    (text(), any::<u64>(), text(), bytes).prop_map(
        |(name, page_bytes, policy, (before, after, without))| SgaEvidence {
            name,
            page_bytes,
            policy,
            bytes_by_node_before: before,
            bytes_by_node_after: after,
            bytes_without_node: without,
            ..SgaEvidence::default()
        },
    )
}

fn session_evidence() -> impl Strategy<Value = SessionEvidence> {
    (any::<u32>(), cpus(), nodes(), cpus(), text()).prop_map(
        |(pid, cpus_allowed, memory_nodes_allowed, cpus_used, policy)| SessionEvidence {
            pid,
            cpus_allowed,
            memory_nodes_allowed,
            cpus_used,
            policy,
            bytes_read_by_node: Default::default(),
            own_memory: None,
        },
    )
}

fn group_evidence() -> impl Strategy<Value = GroupEvidence> {
    (text(), any::<u8>(), cpus(), nodes()).prop_map(|(path, cgroup_version, cpus, memory_nodes)| {
        GroupEvidence {
            path,
            cgroup_version,
            cpus,
            memory_nodes,
        }
    })
}

fn huge_pools() -> impl Strategy<Value = Vec<HugePoolEvidence>> {
    let pool = (0..8u32, any::<u64>(), any::<u64>(), any::<u64>());
    let pool = pool.prop_map(|(node, page_bytes, total, free)| HugePoolEvidence {
        node: NodeId(node),
        page_bytes,
        total,
        free,
    });
    vec(pool, 0..3)
}

fn measurement_evidence() -> impl Strategy<Value = MeasurementEvidence> {
    let memory = (text(), bytes_by_node(), any::<u64>(), any::<u64>());
    let memory = memory.prop_map(
        |(policy, bytes_by_node, page_bytes, without)| MemoryEvidence {
            page_kind: PageKind::Transparent,
            page_bytes,
            policy,
            bytes_by_node,
            bytes_without_node: without,
        },
    );
    let counted = (any::<Option<u64>>(), any::<Option<u64>>());
    (cpus(), cpus(), memory, counted).prop_map(|(allowed, used, memory, counted)| {
        MeasurementEvidence {
            cpus_allowed: allowed,
            cpus_used: used,
            memory_before: memory.clone(),
            memory_after: memory,
            run_queue_wait_ns: counted.0,
            numa_pages_migrated: counted.1,
            steal_s: None,
        }
    })
}

fn evidence() -> impl Strategy<Value = Evidence> {
    let placed = (
        prop::option::of(sga_evidence()),
        vec(session_evidence(), 0..3),
        prop::option::of(group_evidence()),
    );
    let counted = (
        any::<Option<u64>>(),
        prop::option::of(number()),
        any::<u64>(),
    );
    let caged = any::<Option<u32>>();
    let placed = (placed, vec(measurement_evidence(), 0..2));
    (placed, huge_pools(), huge_pools(), counted, caged).prop_map(
        |(placed, before, during, (migrated, steal_s, rows), caged)| Evidence {
            memory_of: caged.map(|_| "binding".to_owned()),
            parked: None,
            took_s: None,
            sga: placed.0.0,
            writers: placed.0.1.clone(),
            sessions: placed.0.1,
            measurements: placed.1,
            group: placed.0.2,
            huge_pages_before: before,
            huge_pages_during: during,
            numa_pages_migrated: migrated,
            steal_s,
            other_cpu_s: steal_s,
            rows_verified: rows,
            server_memory: caged.map(|number| ServerMemory {
                bytes_by_node_before: [(NodeId(number), rows)].into(),
                ..Default::default()
            }),
            server: caged.map(|number| format!("cannot download PostgreSQL {number}")),
            counters: vec![counter(rows)],
            number_read: caged.map(|number| PrintedNumber {
                number: f64::from(number),
                unit: "tps".to_owned(),
                line: (number % 2 == 0).then(|| format!("tps {number}")),
            }),
            cpu_quota: None,
            running_sessions_max: caged,
        },
    )
}

fn counter(counted: u64) -> CounterEvidence {
    CounterEvidence {
        source: "pg_stat_io".to_owned(),
        counted,
        expected: counted as f64,
    }
}

fn time_model() -> impl Strategy<Value = TimeModel> {
    let wait = (any::<u64>(), number()).prop_map(|(count, total_s)| Wait { count, total_s });
    (number(), number(), number(), btree_map(text(), wait, 0..3)).prop_map(
        |(db_time_s, db_cpu_s, cpu_wait_s, waits)| TimeModel {
            db_time_s,
            db_cpu_s,
            cpu_wait_s,
            kernel_cpu_s: Some(db_cpu_s),
            waits,
        },
    )
}

fn session_figures() -> impl Strategy<Value = SessionFigures> {
    let sample = (number(), number()).prop_map(|(at_s, logical_reads_per_s)| Sample {
        at_s,
        logical_reads_per_s,
        ..Sample::default()
    });
    let quantile = any::<Option<u64>>;
    let latency =
        (quantile(), quantile(), quantile()).prop_map(|(p50_ns, p99_ns, max_ns)| LatencySummary {
            p50_ns,
            p99_ns,
            max_ns,
        });
    let counts = (any::<u32>(), any::<u32>(), any::<u64>(), any::<u64>());
    (counts, time_model(), vec(sample, 0..4), latency).prop_map(
        |((sessions, work_unit, statements, logical_reads), time, samples, latency)| {
            SessionFigures {
                sessions,
                work_unit,
                statements,
                logical_reads,
                physical_reads: 0,
                updates: Some(UpdateFigures {
                    rows_updated: statements,
                    blocks_written: logical_reads,
                    writers_cpu_s: 0.25,
                    checkpoint_s: 1.5,
                    updates_in_file: statements,
                }),
                time,
                samples,
                statement_latency: latency,
            }
        },
    )
}

fn kernel_figures() -> impl Strategy<Value = KernelFigures> {
    let counts = (any::<u64>(), any::<Option<u32>>(), any::<u64>());
    let timer = (number(), number(), number());
    let timer = timer.prop_map(|(ticks_per_s, precision_ns, overhead_ns)| TimerFacts {
        source: TimerSource::ClockMonotonic,
        ticks_per_s,
        precision_ns,
        overhead_ns,
    });
    (vec(number(), 0..4), vec(number(), 0..4), counts, timer).prop_map(
        |(windows, overlaps, counts, timer)| KernelFigures {
            windows,
            overlaps,
            working_set_bytes: counts.0,
            tlb_group_pages: counts.1,
            curve: Vec::new(),
            transfers: Vec::new(),
            load_bytes_per_s: None,
            checksum: counts.2,
            timer,
        },
    )
}

fn measured() -> impl Strategy<Value = Measured> {
    let parts = (
        prop::option::of(session_figures()),
        prop::option::of(kernel_figures()),
    );
    (number(), number(), number(), parts).prop_map(|(value, window_s, warm_up_s, parts)| Measured {
        value,
        window_s: Some(window_s),
        warm_up_s: Some(warm_up_s),
        sessions: parts.0,
        kernel: parts.1,
    })
}

fn metric() -> impl Strategy<Value = Metric> {
    prop::sample::select(Metric::TABLE.map(|row| row.metric).to_vec())
}

/// Any trial; one of three counts.
pub(crate) fn trial() -> impl Strategy<Value = Trial> {
    let outcome = prop_oneof![
        Just(Outcome::Valid),
        text().prop_map(Outcome::Invalid),
        text().prop_map(Outcome::Failed),
    ];
    let measured = prop::option::weighted(0.8, measured());
    let report = prop::option::weighted(0.2, report().prop_map(Box::new));
    let warnings = vec(text(), 0..2);
    (
        any::<u32>(),
        outcome,
        measured,
        report,
        evidence(),
        warnings,
    )
        .prop_map(
            |(round, outcome, measured, report, evidence, warnings)| Trial {
                round,
                outcome,
                measured,
                report,
                evidence,
                warnings,
            },
        )
}

/// Any report of another program.
fn report() -> impl Strategy<Value = LoadReport> {
    let printed = || {
        let pair = (number(), number());
        pair.prop_map(|(value, half_unit)| Printed { value, half_unit })
    };
    let event = (
        text(),
        any::<Option<u64>>(),
        prop::option::of(printed()),
        prop::option::of(text()),
    );
    let event = event.prop_map(|(name, waits, total_s, class)| ReportEvent {
        name,
        waits,
        total_s,
        share_of_db_time: total_s,
        class,
    });
    let texts = (text(), prop::option::of(text()), prop::option::of(text()));
    let figures = (
        printed(),
        prop::option::of(printed()),
        prop::option::of(printed()),
        prop::option::of(printed()),
    );
    let host = (any::<Option<u32>>(), any::<Option<u64>>());
    let lists = (vec(event, 0..3), vec((text(), text()), 0..3));
    (any::<usize>(), texts, figures, host, lists).prop_map(
        |(line, texts, figures, host, (events, parameters))| LoadReport {
            kind: ReportKind::Statspack,
            file: texts.0,
            line,
            database: texts.1.clone(),
            instance: texts.2,
            release: texts.1.clone(),
            host: ReportHost {
                name: texts.1,
                cpus: host.0,
                memory_bytes: host.1,
                ..ReportHost::default()
            },
            interval: ReportInterval {
                elapsed_s: figures.1,
                ..ReportInterval::default()
            },
            profile: LoadProfile {
                db_time_per_s: figures.1,
                db_cpu_per_s: figures.2,
                logical_reads_per_s: figures.0,
                physical_reads_per_s: figures.3,
            },
            db_time_s: figures.2,
            db_cpu_s: figures.3,
            events,
            contradictions: parameters.iter().map(|(name, _)| name.clone()).collect(),
            parameters,
        },
    )
}

fn topology() -> impl Strategy<Value = Topology> {
    let node = (0..64u32, cpus(), any::<Option<u64>>(), any::<Option<u64>>());
    let node = node.prop_map(|(id, cpus, memory_bytes, free_bytes)| Node {
        id: NodeId(id),
        cpus,
        memory_bytes,
        free_bytes,
        ..Node::default()
    });
    let distances = prop::option::of(vec(vec(any::<Option<u32>>(), 0..3), 0..3));
    (vec(node, 0..3), cpus(), distances, any::<Option<u32>>()).prop_map(
        |(nodes, cpus, distances, packages)| Topology {
            nodes,
            cpus,
            distances,
            packages,
            ..Topology::default()
        },
    )
}

fn working_set() -> impl Strategy<Value = WorkingSet> {
    let figures = (number(), number(), number());
    let point = (any::<u64>(), any::<u32>(), figures);
    let point = point.prop_map(
        |(bytes, memories, (ns, uncached_ns, ratio))| WorkingSetPoint {
            bytes,
            memories,
            ns,
            uncached_ns,
            ratio,
        },
    );
    (any::<(u64, u64, bool)>(), vec(point, 0..4)).prop_map(
        |((bytes, bytes_max, is_beyond_caches), points)| WorkingSet {
            bytes,
            bytes_max,
            is_beyond_caches,
            points,
        },
    )
}

fn machine() -> impl Strategy<Value = Machine> {
    let texts = (text(), text(), prop::option::of(text()), text());
    let hypervisor = (prop::option::of(text()), any::<Option<bool>>());
    let source = prop_oneof![
        Just(CacheSizeSource::Option),
        Just(CacheSizeSource::Measured)
    ];
    let named = (any::<u64>(), any::<Option<u64>>(), source);
    let named = named.prop_map(|(bytes, shown_bytes, source)| NamedCache {
        bytes,
        shown_bytes,
        source,
    });
    let sizes = (prop::option::of(named), prop::option::of(working_set()));
    (texts, hypervisor, sizes, topology()).prop_map(
        |(texts, (hypervisor, emulated), (last_level_cache, working_set), topology)| {
            let (host, kernel, cpu_model, numalab) = texts;
            Machine {
                host,
                kernel,
                cpu_model,
                hypervisor,
                emulated,
                numalab,
                last_level_cache,
                working_set,
                topology,
            }
        },
    )
}

fn calibration() -> impl Strategy<Value = Calibration> {
    let point = (any::<u32>(), number());
    let point = point.prop_map(|(work_unit, logical_reads_per_s)| CalibrationPoint {
        work_unit,
        logical_reads_per_s,
    });
    (any::<u32>(), any::<bool>(), vec(point, 0..4)).prop_map(
        |(work_unit, plateau_reached, points)| Calibration {
            work_unit,
            plateau_reached,
            points,
        },
    )
}

fn status() -> impl Strategy<Value = RunStatus> {
    prop_oneof![
        Just(RunStatus::Unfinished),
        Just(RunStatus::Settled),
        Just(RunStatus::Bounded),
        Just(RunStatus::Interrupted),
        Just(RunStatus::Failed),
    ]
}

/// Any run. Its baseline is one of its cases as a rule.
pub(crate) fn run() -> impl Strategy<Value = Run> {
    let texts = (text(), text(), text(), text(), text(), text());
    let case = (case_plan(), vec(trial(), 0..8)).prop_map(|(plan, trials)| Case { plan, trials });
    let skipped = (text(), text()).prop_map(|(case, reason)| Skipped { case, reason });
    let asked = (
        any::<u64>(),
        any::<bool>(),
        prop::option::of(number()),
        any::<bool>(),
        metric(),
    );
    let found = (
        status(),
        prop::option::of(machine()),
        prop::option::of(calibration()),
    );
    (texts, asked, found, vec(case, 0..4), vec(skipped, 0..3)).prop_map(
        |(texts, (seed, asks_about_memory, window_s, stray, metric), found, cases, skipped)| {
            let first = cases.first().map(|case| case.plan.name.clone());
            Run {
                id: texts.0,
                experiment: texts.1,
                question: texts.2,
                definition: texts.3,
                started_at: texts.4,
                status: found.0,
                machine: found.1,
                seed,
                metric,
                baseline: first.filter(|_| !stray).unwrap_or(texts.5),
                asks_about_memory,
                window_s,
                calibration: found.2,
                cases,
                skipped,
            }
        },
    )
}
