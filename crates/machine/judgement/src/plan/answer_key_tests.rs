//! Bounds beside what others have published of placements, where they give figures of the machine:
//! the table of docs/predict.md.

use model::{MatrixCell, MemoryFigures, Node, NodeId, NodeMatrix, PredictedPlacement};

use super::plan_tests::{GIB, machine, with_process};
use super::prediction::{Wish, predict};
use crate::doctor::DoctorInput;

/// What bounds the work of a placement.
#[derive(Clone, Copy)]
enum By {
    Latency,
    Bandwidth,
}

/// A placement with a published gain.
struct Key {
    source: &'static str,
    /// The nodes, of which node 0 has the CPUs.
    machine: fn() -> DoctorInput,
    /// The node that has all memory first.
    begin: u32,
    to: &'static str,
    by: By,
    /// Work under the placement as a part of the work before: the least and the most.
    published: (f64, f64),
}

/// Nodes of two CPUs with these distances, and a process on the first one.
fn of_distances(distances: &[&[u32]]) -> DoctorInput {
    let mut input = machine();
    let node = |id: u32| Node {
        id: NodeId(id),
        cpus: format!("{}-{}", 2 * id, 2 * id + 1).parse().unwrap(),
        ..input.topology.nodes[0].clone()
    };
    input.topology.nodes = (0..distances.len() as u32).map(node).collect();
    let rows = distances.iter();
    let rows = rows.map(|row| row.iter().map(|it| Some(*it)).collect());
    input.topology.distances = Some(rows.collect());
    input.room = (0..distances.len() as u32)
        .map(|id| (NodeId(id), 31 * GIB))
        .collect();
    input
}

/// Article 000: nodes 0 and 7 of eight, in two halves.
fn eight_nodes() -> DoctorInput {
    of_distances(&[
        &[10, 13, 12, 12, 22, 22, 22, 22],
        &[13, 10, 12, 12, 22, 22, 22, 22],
        &[12, 12, 10, 13, 22, 22, 22, 22],
        &[12, 12, 13, 10, 22, 22, 22, 22],
        &[22, 22, 22, 22, 10, 13, 12, 12],
        &[22, 22, 22, 22, 13, 10, 12, 12],
        &[22, 22, 22, 22, 12, 12, 10, 13],
        &[22, 22, 22, 22, 12, 12, 13, 10],
    ])
}

/// Article 004: 97 ns near, 156 ns on average over four nodes.
fn four_opterons() -> DoctorInput {
    // Latencies stand in for distances.
    let row: &[u32] = &[10; 4];
    let mut input = of_distances(&[row; 4]);
    let (near, mean) = (97.0, 156.0);
    let far = (4.0 * mean - near) / 3.0;
    let nodes: Vec<NodeId> = (0..4).map(NodeId).collect();
    let cell = |from: u32, to: u32| MatrixCell::of(if from == to { near } else { far });
    let rows = (0..4).map(|from| (0..4).map(|to| cell(from, to)).collect());
    input.latencies = NodeMatrix::new(nodes.clone(), nodes, rows.collect()).unwrap();
    input
}

/// A node of DRAM and one of CXL memory, in tenths of a GB/s.
fn dram_and_cxl(dram: u64, cxl: u64) -> DoctorInput {
    let mut input = of_distances(&[&[10, 24], &[24, 10]]);
    input.bandwidth_weights = vec![(NodeId(0), dram), (NodeId(1), cxl)];
    input
}

/// What bounds work: before, and under the placement.
fn bound(key: &Key) -> f64 {
    let mut input = (key.machine)();
    let nodes = format!("0-{}", input.topology.nodes.len() - 1);
    with_process(&mut input, "0-1", &nodes, &[]);
    let residency = input.residency.as_mut().unwrap();
    residency.memory_nodes = nodes.parse().unwrap();
    let private = &mut residency.processes[0].private_bytes_by_node;
    let all = 20 * GIB;
    *private = match key.to {
        "near-cpus" if key.begin == SPREAD => (0..4).map(|it| (NodeId(it), all / 4)).collect(),
        _ => [(NodeId(key.begin), all)].into(),
    };
    let wish = Wish {
        name: key.to.to_owned(),
        memory: Some(key.to.parse().unwrap()),
        ..Wish::default()
    };
    let found = predict(&input, &[wish]).unwrap();
    let PredictedPlacement {
        after,
        cpu_time_change_at_most,
        ..
    } = &found.placements[0];
    let load = |it: &MemoryFigures| it.busiest_load.unwrap();
    match key.by {
        By::Latency => 1.0 / (1.0 + cpu_time_change_at_most),
        By::Bandwidth => load(&found.now) / load(after),
    }
}

/// All memory over four nodes at first.
const SPREAD: u32 = u32::MAX;
const XSBENCH: &str = "Price, the same, XSBench";

fn keys() -> Vec<Key> {
    let stream = |source, machine, dram: f64, [even, nine]: [f64; 2]| {
        [("spread=0:1,1:1", even), ("spread=0:9,1:1", nine)].map(|(to, found)| Key {
            source,
            machine,
            begin: 0,
            to,
            by: By::Bandwidth,
            published: (found / dram, found / dram),
        })
    };
    let xsbench = |to, found: f64| Key {
        source: XSBENCH,
        machine: || dram_and_cxl(2988, 1130),
        begin: 0,
        to,
        by: By::Bandwidth,
        published: (found / 4.69, found / 4.69),
    };
    let mut keys = vec![
        Key {
            source: "Drouvot, logical reads near and far (article 000)",
            machine: eight_nodes,
            begin: 7,
            to: "near-cpus",
            by: By::Latency,
            published: (4_551_738.0 / 2_203_308.0, 4_685_712.0 / 2_133_880.0),
        },
        Key {
            source: "Closson, job on interleaved and near memory (article 004)",
            machine: four_opterons,
            begin: SPREAD,
            to: "near-cpus",
            by: By::Latency,
            published: (1.0 / 0.88, 1.0 / 0.85),
        },
        xsbench("spread=0:1,1:1", 3.08),
        xsbench("spread=0:9,1:1", 5.81),
    ];
    let streams = [
        stream(
            "Price, weighted interleaving (2024), STREAM Copy",
            || dram_and_cxl(2009, 222),
            200.9,
            [44.7, 190.1],
        ),
        stream(
            "Price, the same, Scale",
            || dram_and_cxl(2021, 223),
            202.1,
            [44.8, 207.7],
        ),
        stream(
            "Price, the same, Add",
            || dram_and_cxl(2089, 244),
            208.9,
            [48.6, 202.0],
        ),
        stream(
            "Price, the same, Triad",
            || dram_and_cxl(2085, 245),
            208.5,
            [48.7, 217.7],
        ),
    ];
    keys.splice(2..2, streams.into_iter().flatten());
    keys
}

fn row(key: &Key) -> String {
    let bound = bound(key);
    let (least, most) = key.published;
    let by = match key.by {
        By::Latency => "latency",
        By::Bandwidth => "bandwidth",
    };
    let published = match most - least < 0.005 {
        true => format!("{most:.3}"),
        false => format!("{least:.3} to {most:.3}"),
    };
    let beyond = most / bound - 1.0;
    let verdict = match beyond > 0.0 {
        true => format!("missed by {:.1} %", beyond * 100.0),
        false => format!("holds, {:.1} % above", (bound / most - 1.0) * 100.0),
    };
    format!(
        "| {} | `{}` | {bound:.3}, {by} | {published} | {verdict} |",
        key.source, key.to
    )
}

#[test]
fn the_page_shows_the_bounds_beside_what_was_published() {
    let page = include_str!("../../../../../docs/predict.md");
    let rows: Vec<String> = keys().iter().map(row).collect();
    println!("{}", rows.join("\n"));
    for row in rows {
        assert!(page.contains(&row), "docs/predict.md lacks {row}");
    }
}
