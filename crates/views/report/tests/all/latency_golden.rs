//! Compares the texts and documents of handmade latencies and bandwidths with reviewed golden
//! files.
//!
//! `NUMALAB_BLESS=1 cargo test -p report --test all latency_golden` rewrites the files.

use std::fs;
use std::path::Path;

use model::{
    BandwidthMethod, BandwidthResult, Cache, CacheKind, Core, CpuId, CurveLevel, CurvePoint,
    DistanceTable, Finding, HopClass, LatencyCurve, LatencyMethod, LatencyResult, LoadLadder,
    LoadPoint, Machine, MatrixCell, Node, NodeId, NodeLink, NodeMatrix, PageKind, PageWalks,
    Severity, StreamKernel, ThreadPoint, ThreadSweep, TimerFacts, TimerSource, Topology,
    TransferMatrix, WholeMachine, WholeMachineMemory,
};
use report::{
    TextOptions, bandwidth_document, bandwidth_text, curves_csv, latency_curve_text,
    latency_document, latency_hwloc_xml, latency_text, latency_transfers_text, matrix_csv,
    transfers_csv,
};
use testing::{Need, not_run};

const PLAIN: TextOptions = TextOptions {
    width: 80,
    color: false,
};

fn check(file: &str, found: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/latency_golden");
    let path = directory.join(file);
    if std::env::var_os("NUMALAB_BLESS").is_some() {
        fs::write(&path, found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == found, "{file} differs:\n{found}");
}

fn json<T: serde::Serialize>(document: &T) -> String {
    serde_json::to_string_pretty(document).unwrap() + "\n"
}

fn nodes(ids: &[u32]) -> Vec<NodeId> {
    ids.iter().copied().map(NodeId).collect()
}

/// Returns article 002: one row, from a file.
fn article() -> LatencyResult {
    let row = [53.0, 211.0, 217.0, 248.0].map(MatrixCell::of).to_vec();
    let ids = nodes(&[0, 1, 2, 3]);
    let class = |class, list: &str, ns_min, ns, ns_max, distance| HopClass {
        cpu_node: NodeId(0),
        class,
        memory_nodes: list.parse().unwrap(),
        ns_min,
        ns,
        ns_max,
        distances: vec![distance],
    };
    let distances = (0..4).map(|from| (0..4).map(|to| if from == to { 10 } else { 21 }).collect());
    LatencyResult {
        file: Some("article-002.txt".to_owned()),
        matrix: NodeMatrix::new(nodes(&[0]), ids.clone(), vec![row]).unwrap(),
        distances: DistanceTable::new(ids, distances.collect()),
        hop_classes: vec![
            class(0, "0", 53.0, 53.0, 53.0, 10),
            class(1, "1-2", 211.0, 214.0, 217.0, 21),
            class(2, "3", 248.0, 248.0, 248.0, 21),
        ],
        links: [1, 2]
            .map(|to| NodeLink {
                from: NodeId(0),
                to: NodeId(to),
                is_mutual: false,
            })
            .to_vec(),
        findings: vec![Finding {
            id: "hidden-hop".to_owned(),
            severity: Severity::Warning,
            message: "from node 0, node 3 is a hop further than nodes 1-2".to_owned(),
            ..Finding::default()
        }],
        ..LatencyResult::default()
    }
}

fn timer() -> TimerFacts {
    TimerFacts {
        source: TimerSource::Tsc,
        ticks_per_s: 2.5e9,
        precision_ns: 10.0,
        overhead_ns: 20.0,
    }
}

/// Returns a machine of two nodes with CPUs and one without.
fn machine(hypervisor: Option<&str>, emulated: bool) -> Machine {
    let node = |id, cpus: &str| Node {
        id: NodeId(id),
        cpus: cpus.parse().unwrap(),
        memory_bytes: Some(64 << 30),
        ..Node::default()
    };
    let core = |number: u32| Core {
        cpus: format!("{number},{}", number + 4).parse().unwrap(),
        node: Some(NodeId(number / 2)),
        package: Some(number / 2),
        die: None,
        core: Some(number % 2),
    };
    let cache = |level, kind, size_bytes, shared_by: &[&str]| Cache {
        level,
        kind,
        size_bytes: Some(size_bytes),
        line_bytes: Some(64),
        shared_by: Some(shared_by.iter().map(|cpus| cpus.parse().unwrap()).collect()),
    };
    let of_core = ["0,4", "1,5", "2,6", "3,7"];
    Machine {
        host: "db1".to_owned(),
        kernel: "6.1.0".to_owned(),
        cpu_model: Some("Example 8 Core".to_owned()),
        hypervisor: hypervisor.map(str::to_owned),
        emulated: Some(emulated),
        numalab: "0.1.0".to_owned(),
        last_level_cache: None,
        working_set: None,
        topology: Topology {
            nodes: vec![node(0, "0-1,4-5"), node(1, "2-3,6-7"), node(8, "")],
            cpus: "0-7".parse().unwrap(),
            core_list: (0..4).map(core).collect(),
            caches: vec![
                cache(1, CacheKind::Data, 32 << 10, &of_core),
                cache(1, CacheKind::Instruction, 32 << 10, &of_core),
                cache(2, CacheKind::Unified, 1 << 20, &of_core),
                cache(3, CacheKind::Unified, 32 << 20, &["0-1,4-5", "2-3,6-7"]),
            ],
            ..Topology::default()
        },
    }
}

fn cell(value: f64, half: f64) -> MatrixCell {
    MatrixCell {
        value: Some(value),
        low: Some(value - half),
        high: Some(value + half),
        confidence: Some(0.9375),
        values: 5,
        is_unsteady: half / value > 0.05,
        absent_because: None,
    }
}

fn page_walks() -> PageWalks {
    PageWalks {
        cpu_node: NodeId(0),
        memory_node: NodeId(0),
        page_bytes: 4096,
        ns_without: 89.1,
        ns_with: 128.4,
        low: Some(127.0),
        high: Some(130.2),
    }
}

fn level(ns: f64, fits_bytes: Option<u64>) -> CurveLevel {
    CurveLevel { ns, fits_bytes }
}

/// Returns a result with everything it can hold, measured on a machine with a memory-only node.
fn measured() -> LatencyResult {
    let rows = vec![
        vec![cell(81.2, 0.4), cell(139.7, 0.9), cell(251.4, 20.0)],
        vec![
            cell(140.1, 1.1),
            cell(80.9, 0.3),
            MatrixCell::absent("node 8 has no room for 134217728 bytes"),
        ],
    ];
    let point = |(bytes, ns): &(u64, f64)| CurvePoint {
        bytes: *bytes,
        ns: *ns,
        ns_min: ns * 0.99,
        ns_max: ns * 1.2,
    };
    let curve: Vec<(u64, f64)> = (10..=30)
        .map(|octave| {
            let ns = match octave {
                10..=15 => 1.1,
                16..=20 => 3.8,
                21..=24 => 14.0,
                25 => 60.0,
                _ => 81.0,
            };
            (1 << octave, ns)
        })
        .collect();
    LatencyResult {
        runs: vec!["b7f3".to_owned()],
        note: None,
        page_walks: Some(page_walks()),
        machine: Some(machine(None, false)),
        method: Some(LatencyMethod {
            page_kind: PageKind::Transparent,
            page_bytes: 2 << 20,
            working_set_bytes: 128 << 20,
            first_visits: false,
            tlb_group_pages: Some(64),
            rounds: 5,
            samples_per_round: 51,
            seed: 7,
            timer: timer(),
        }),
        matrix: NodeMatrix::new(nodes(&[0, 1]), nodes(&[0, 1, 8]), rows).unwrap(),
        curves: vec![LatencyCurve {
            cpu_node: NodeId(0),
            memory_node: NodeId(0),
            cpu: CpuId(1),
            page_kind: PageKind::Transparent,
            page_bytes: 2 << 20,
            points: curve.iter().map(point).collect(),
            levels: vec![
                level(1.1, Some(32 << 10)),
                level(3.8, Some(1 << 20)),
                level(14.0, Some(16 << 20)),
                level(81.0, None),
            ],
        }],
        transfers: vec![TransferMatrix {
            home_node: NodeId(0),
            cpus: [0, 1, 2, 3].map(CpuId).to_vec(),
            ns: vec![
                vec![None, Some(24.0), Some(90.5), Some(91.0)],
                vec![Some(24.5), None, Some(92.0), Some(90.0)],
                vec![Some(95.0), Some(96.5), None, Some(25.0)],
                vec![Some(97.0), Some(99.0), Some(25.5), None],
            ],
        }],
        ..LatencyResult::default()
    }
}

fn bandwidth() -> BandwidthResult {
    let rows = vec![
        vec![cell(90.1e9, 1e9), cell(35.2e9, 1e9)],
        vec![
            cell(34.9e9, 1e9),
            MatrixCell::absent("node 1 has no memory"),
        ],
    ];
    BandwidthResult {
        runs: vec!["b7f3".to_owned()],
        machine: Some(machine(Some("KVMKVMKVM"), false)),
        kernel: StreamKernel::Copy,
        method: Some(BandwidthMethod {
            simd: "avx2".to_owned(),
            page_kind: PageKind::Huge,
            page_bytes: 1 << 30,
            bytes_per_thread: 256 << 20,
            rounds: 5,
            timer: timer(),
        }),
        matrix: NodeMatrix::new(nodes(&[0, 1]), nodes(&[0, 1]), rows).unwrap(),
        sweeps: vec![ThreadSweep {
            cpu_node: NodeId(0),
            memory_node: NodeId(0),
            points: [(1, 20.4e9), (2, 40.1e9), (4, 88.0e9), (8, 90.1e9)]
                .map(|(threads, bytes_per_s)| ThreadPoint {
                    threads,
                    bytes_per_s,
                })
                .to_vec(),
            knee_threads: Some(4),
        }],
        whole_machine: [
            (WholeMachineMemory::Local, 178.0e9),
            (WholeMachineMemory::Interleaved, 120.0e9),
            (WholeMachineMemory::Remote, 70.0e9),
        ]
        .map(|(memory, bytes_per_s)| WholeMachine {
            memory,
            cpu_nodes: "0-1".parse().unwrap(),
            threads: 8,
            bytes_per_s,
        })
        .to_vec(),
        ladders: vec![LoadLadder {
            cpu_node: NodeId(0),
            memory_node: NodeId(1),
            load_nodes: "0".parse().unwrap(),
            load_threads: 3,
            points: [
                (None, 0.0, 139.7),
                (Some(2000), 10.5e9, 150.0),
                (Some(0), 35.0e9, 410.0),
            ]
            .map(|(delay, bytes_per_s, ns)| LoadPoint {
                delay,
                bytes_per_s,
                ns,
            })
            .to_vec(),
        }],
        findings: Vec::new(),
    }
}

/// Returns a result of 32 nodes, of which a terminal shows some at a time.
fn many_nodes() -> LatencyResult {
    let ids: Vec<u32> = (0..32).collect();
    let row = |from: u32| {
        let ns = |to: u32| 80.0 + f64::from((from ^ to).count_ones()) * 55.5;
        ids.iter().map(|to| MatrixCell::of(ns(*to))).collect()
    };
    let cells = ids.iter().map(|from| row(*from)).collect();
    let finding = |node| Finding {
        id: "hidden-hop".to_owned(),
        severity: Severity::Warning,
        message: format!("from node {node}, some nodes are a hop further than others"),
        ..Finding::default()
    };
    LatencyResult {
        findings: ids.iter().map(finding).collect(),
        machine: Some(machine(Some("TCGTCGTCGTCG"), true)),
        matrix: NodeMatrix::new(nodes(&ids), nodes(&ids), cells).unwrap(),
        ..LatencyResult::default()
    }
}

#[test]
fn texts_are_as_they_were_read() {
    let color = TextOptions {
        color: true,
        ..PLAIN
    };
    let results = [
        ("article-002", article()),
        ("measured", measured()),
        ("many-nodes", many_nodes()),
        ("empty", LatencyResult::default()),
    ];
    for (name, result) in results {
        check(&format!("{name}.txt"), &latency_text(&result, &PLAIN));
    }
    check("article-002-color.txt", &latency_text(&article(), &color));
    check(
        "measured-curve.txt",
        &latency_curve_text(&measured(), &PLAIN),
    );
    check(
        "measured-transfers.txt",
        &latency_transfers_text(&measured(), &PLAIN),
    );
    check(
        "measured-transfers-color.txt",
        &latency_transfers_text(&measured(), &color),
    );
    check("bandwidth.txt", &bandwidth_text(&bandwidth(), &PLAIN));
}

#[test]
fn many_cpus_are_shades_without_figures() {
    let cpus: Vec<CpuId> = (0..96).map(CpuId).collect();
    let ns = |from: u32, to: u32| match (from / 48 == to / 48, from / 8 == to / 8) {
        _ if from == to => None,
        (true, true) => Some(25.0),
        (true, false) => Some(60.0),
        (false, _) => Some(180.0),
    };
    let row = |from: u32| (0..96).map(|to| ns(from, to)).collect();
    let transfers = vec![TransferMatrix {
        home_node: NodeId(0),
        cpus,
        ns: (0..96).map(row).collect(),
    }];
    let result = LatencyResult {
        transfers,
        ..LatencyResult::default()
    };
    check("many-cpus.txt", &latency_transfers_text(&result, &PLAIN));
}

#[test]
fn documents_and_tables_are_as_they_were_read() {
    check("article-002.json", &json(&latency_document(&article())));
    check("measured.json", &json(&latency_document(&measured())));
    check("bandwidth.json", &json(&bandwidth_document(&bandwidth())));
    check("measured.csv", &matrix_csv(&measured().matrix));
    check("measured-curve.csv", &curves_csv(&measured().curves));
    check(
        "measured-transfers.csv",
        &transfers_csv(&measured().transfers),
    );
}

#[test]
fn the_topology_for_hwloc_is_as_lstopo_read_it() {
    check("measured.xml", &latency_hwloc_xml(&measured()).unwrap());
    assert_eq!(latency_hwloc_xml(&article()), None);
    check("square.xml", &latency_hwloc_xml(&square()).unwrap());
}

/// Returns a result in which every pair of nodes was measured.
fn square() -> LatencyResult {
    let rows = vec![
        vec![cell(81.2, 0.4), cell(139.7, 0.9)],
        vec![cell(140.1, 1.1), cell(80.9, 0.3)],
    ];
    LatencyResult {
        matrix: NodeMatrix::new(nodes(&[0, 1]), nodes(&[0, 1]), rows).unwrap(),
        ..measured()
    }
}

#[test]
fn lstopo_reads_nodes_and_latencies() {
    let lstopo = |arguments: &[&str], result: &LatencyResult| {
        let path = std::env::temp_dir().join(format!("numalab-{}.xml", std::process::id()));
        fs::write(&path, latency_hwloc_xml(result).unwrap()).unwrap();
        let mut command = std::process::Command::new("lstopo-no-graphics");
        let output = command.arg("--input").arg(&path).args(arguments).output();
        fs::remove_file(&path).unwrap();
        Some(String::from_utf8(output.ok()?.stdout).unwrap())
    };
    let Some(text) = lstopo(&[], &measured()) else {
        let why = "lstopo-no-graphics (Debian: hwloc-nox) is not installed";
        return not_run("lstopo_reads_nodes_and_latencies", Need::Package, why);
    };
    for part in ["P#8 64GB", "PU L#7 (P#7)"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let distances = lstopo(&["--distances"], &square()).unwrap();
    assert!(
        distances.contains("numalab:latency_ns kind 6"),
        "{distances}"
    );
    assert!(distances.contains("140    81"), "{distances}");
    let attributes = lstopo(&["--memattrs"], &measured()).unwrap();
    let far = "NUMANode L#2 = 251 from cpuset 0x00000033";
    assert!(attributes.contains(far), "{attributes}");
}
