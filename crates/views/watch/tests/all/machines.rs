//! Machines to look at: two nodes with a database, and as many nodes and processes as one likes.

use model::{
    Allocations, CpuId, CpuSet, InstanceSnapshot, MachineSnapshot, MemorySnapshot, MemorySource,
    NodeHugePages, NodeId, NodeSnapshot, OpenedSnapshot, OpenedSubject, Pressure, ProcessSnapshot,
    SegmentSnapshot, Snapshot, ThreadSnapshot,
};

const GIB: u64 = 1 << 30;
/// CPUs of a node.
const CPUS: u32 = 4;

/// The machine `tick` seconds after its first snapshot.
pub(crate) fn machine(nodes: u32, processes: u32, tick: u32) -> Snapshot {
    let seconds = f64::from(tick);
    Snapshot {
        taken_at_s: 1_709_210_096.0 + seconds,
        uptime_s: 500.0 + seconds,
        nodes: (0..nodes).map(|id| node(id, tick)).collect(),
        pressure: Pressure {
            cpu_some: Some(0.12),
            memory_some: Some(0.001),
            memory_full: None,
        },
        counters: MachineSnapshot {
            steal_s: Some(0.1 * seconds),
            numa_pages_migrated: Some(1000 + 250 * u64::from(tick)),
            numa_hint_faults: Some(40 * u64::from(tick)),
            numa_hint_faults_local: Some(30 * u64::from(tick)),
            pages_migrated: None,
        },
        processes: (0..processes)
            .map(|index| process(index, nodes, seconds))
            .collect(),
        instances: vec![InstanceSnapshot {
            name: "postgres:/data".to_owned(),
            pids: vec![100, 101],
            memory: Some(memory(&[(0, 6 * GIB), (1, 2 * GIB)], 496.0 + seconds)),
        }],
        opened: None,
        gaps: vec!["pid 7: permission denied".to_owned()],
        cost_s: 0.01,
    }
}

fn node(id: u32, tick: u32) -> NodeSnapshot {
    let ticks = u64::from(tick);
    NodeSnapshot {
        id: NodeId(id),
        cpus: (id * CPUS..(id + 1) * CPUS).map(CpuId).collect(),
        memory_bytes: Some(64 * GIB),
        free_bytes: Some(20 * GIB / u64::from(id + 1)),
        page_cache_bytes: (id != 1).then_some(8 * GIB),
        anonymous_bytes: Some(30 * GIB),
        shared_bytes: Some(GIB),
        huge_pages: vec![NodeHugePages {
            page_bytes: 2 << 20,
            total: 1024 * u64::from(id),
            free: Some(512),
            surplus: None,
        }],
        allocations: Some(Allocations {
            hit: 12_345 * ticks,
            miss: 7 * ticks,
            foreign: 0,
        }),
        cpu_busy_s: Some(1.5 * f64::from(tick)),
    }
}

fn process(index: u32, nodes: u32, seconds: f64) -> ProcessSnapshot {
    let names = ["postgres", "字幕 \u{1b}[2J", "postgres", "numalab"];
    let commands = [
        "/usr/lib/postgresql/17/bin/postgres -D /data",
        "字幕 \u{1b}[2J\u{202e}",
        "postgres: 17/main: walwriter",
        "numalab watch",
    ];
    let kind = index as usize % names.len();
    let text = |text: &str| Some(text.to_owned());
    ProcessSnapshot {
        pid: 100 + index,
        start_ticks: 5,
        name: names[kind].to_owned(),
        parent: Some(if index == 0 { 1 } else { 100 }),
        user: text(["postgres", "root"][usize::from(kind == 3)]),
        command: text(commands[kind]),
        control_group: text("/system.slice/postgresql@17-main.service"),
        threads: 1 + index,
        cpu_s: seconds / f64::from(index + 1),
        last_cpu: (index != 3).then_some(CpuId(index % (nodes * CPUS).max(1))),
        cpus_allowed: Some((0..CPUS).map(CpuId).collect::<CpuSet>()),
        memory_nodes_allowed: Some((0..nodes).map(NodeId).collect()),
        resident_bytes: Some(
            GIB / u64::from(index + 1) + ((seconds as u64 * u64::from(index)) << 20),
        ),
        memory: (index % 4 != 2).then(|| {
            memory(
                &[(0, 3 * GIB), (1, GIB)],
                500.0 + seconds - f64::from(index),
            )
        }),
    }
}

fn memory(bytes: &[(u32, u64)], looked_at_s: f64) -> MemorySnapshot {
    MemorySnapshot {
        bytes_by_node: bytes
            .iter()
            .map(|&(id, bytes)| (NodeId(id), bytes))
            .collect(),
        source: MemorySource::NumaMaps,
        processes: 1,
        complete: false,
        looked_at_s,
    }
}

/// The threads and segments of what is open, `tick` seconds after the first snapshot.
pub(crate) fn opened(subject: OpenedSubject, tick: u32) -> OpenedSnapshot {
    let segment = |name: Option<&str>, bytes: &[(u32, u64)]| SegmentSnapshot {
        name: name.map(str::to_owned),
        bytes_by_node: memory(bytes, 0.0).bytes_by_node,
    };
    let thread = |tid: u32| ThreadSnapshot {
        tid,
        start_ticks: 5,
        name: format!("worker \u{1b}{tid}"),
        cpu_s: f64::from(tick) / f64::from(tid),
        last_cpu: Some(CpuId(tid % CPUS)),
    };
    let is_process = matches!(subject, OpenedSubject::Process(_));
    OpenedSnapshot {
        subject,
        threads: (1..4).filter(|_| is_process).map(thread).collect(),
        threads_left_out: 2,
        segments: Some(vec![
            segment(Some("/dev/shm/PostgreSQL.1"), &[(0, 3 * GIB), (1, GIB)]),
            segment(None, &[(1, 7 << 20)]),
        ]),
        segments_left_out: 0,
    }
}
