//! Judges published matrices, made-up ones with each fault, and arbitrary ones.

use judgement::LatencyInput;
use judgement::findings::{FINDINGS, of_latency};
use judgement::hops::{hop_classes, links};
use model::{DistanceTable, MatrixCell, NodeId, NodeMatrix};
use proptest::prelude::*;

fn nodes(count: usize) -> Vec<NodeId> {
    (0..count as u32).map(NodeId).collect()
}

fn matrix(rows: &[&[f64]]) -> NodeMatrix {
    let columns = rows.first().map_or(0, |row| row.len());
    let cells = rows
        .iter()
        .map(|row| row.iter().copied().map(MatrixCell::of).collect());
    NodeMatrix::new(nodes(rows.len()), nodes(columns), cells.collect()).unwrap()
}

fn table(rows: &[&[u32]]) -> DistanceTable {
    let rows: Vec<Vec<u32>> = rows.iter().map(|row| row.to_vec()).collect();
    DistanceTable::new(nodes(rows.len()), rows).unwrap()
}

/// Findings as `id: message`, one per line.
fn findings(matrix: &NodeMatrix, distances: Option<&DistanceTable>) -> Vec<String> {
    let found = of_latency(&LatencyInput::new(matrix, distances, &[], &[]));
    let line = |finding: &model::Finding| format!("{}: {}", finding.id, finding.message);
    found.iter().map(line).collect()
}

fn check(rows: &[&[f64]], distances: &[&[u32]], expected: &[&str]) {
    assert_eq!(findings(&matrix(rows), Some(&table(distances))), expected);
}

const FOUR_AT_21: [&[u32]; 4] = [
    &[10, 21, 21, 21],
    &[21, 10, 21, 21],
    &[21, 21, 10, 21],
    &[21, 21, 21, 10],
];

#[test]
fn article_002_has_a_hidden_hop_to_node_3() {
    check(
        &[&[53.0, 211.0, 217.0, 248.0]],
        &FOUR_AT_21,
        &[
            "hidden-hop: the firmware gives every remote node distance 21, which hides a hop: 248 \
             ns from node 0 to node 3, against 211 to 217 ns to the nearest nodes at that \
             distance (14 to 17 % more)",
            "understated: distance 21 stands for 2.1 times the local latency, measured 4.0 to 4.7",
        ],
    );
}

#[test]
fn an_ordinary_machine_with_two_sockets_has_nothing_to_report() {
    check(
        &[&[77.9, 143.2], &[144.4, 78.4]],
        &[&[10, 21], &[21, 10]],
        &[],
    );
}

/// The rows of a published report on Sapphire Rapids with a CXL card as node 4.
const CLUSTERS_WITH_CXL: [&[f64]; 4] = [
    &[107.5, 117.1, 200.7, 200.7, 279.4],
    &[115.8, 106.8, 199.9, 199.9, 278.8],
    &[200.0, 200.1, 106.8, 115.8, 363.8],
    &[199.0, 199.0, 115.6, 105.9, 363.5],
];

#[test]
fn sub_numa_clusters_with_cxl_memory_are_judged_by_their_order() {
    // The card's own row of distances is 255: it has no CPUs, and so no path to anywhere.
    let distances = table(&[
        &[10, 12, 32, 32, 50],
        &[12, 10, 32, 32, 50],
        &[32, 32, 10, 12, 60],
        &[32, 32, 12, 10, 60],
        &[255, 255, 255, 255, 10],
    ]);
    let matrix = matrix(&CLUSTERS_WITH_CXL);
    let with_cpus = matrix.cpu_nodes().iter().copied().collect();
    assert_eq!(
        findings(&matrix, Some(&distances.from_nodes(&with_cpus))),
        [
            "overstated: distance 32 stands for 3.2 times the local latency, measured 1.9; \
             distance 50 stands for 5.0 times the local latency, measured 2.6; distance 60 stands \
             for 6.0 times the local latency, measured 3.4; beyond 30, Linux is slow to use idle \
             CPUs of other nodes, too",
        ]
    );
}

#[test]
fn a_node_that_no_cpu_reaches_by_the_table_is_reported_with_its_measurement() {
    check(
        &[&[80.0, 250.0], &[80.0, 251.0]],
        &[&[10, 255], &[255, 10]],
        &[
            "distances-impossible: distance 255 means unreachable: from node 0 to node 1, \
             from node 1 to node 0; yet it was measured: 80.0 to 250 ns",
            "asymmetric: the two directions between node 0 and node 1 differ by 212 %: 250 ns \
             from 0 to 1, 80.0 ns from 1 to 0",
            "local-not-nearest: remote memory is nearer (80.0 ns) than local memory (251 ns): from \
             node 1 to node 0; the firmware may have assigned CPUs or memory to the wrong node",
            "local-outlier: the local memory of node 1 is slower (251 ns) than \
             that of the median node (80.0 ns), by 213 %: its memory modules, channels or \
             CPUs may differ from those of the other nodes",
        ],
    );
}

/// Eight nodes in two boxes: near ones, and two further hops that the firmware distinguishes
/// neither from each other nor from the near ones.
fn two_boxes() -> Vec<Vec<f64>> {
    let ns = |from: usize, to: usize| match (from == to, from / 4 == to / 4) {
        (true, _) => 100.0,
        (_, true) => 200.0,
        (_, false) => 300.0 + (from % 2) as f64,
    };
    let row = |from| (0..8).map(|to| ns(from, to)).collect();
    (0..8).map(row).collect()
}

#[test]
fn what_all_rows_show_of_a_distance_is_one_finding() {
    let rows = two_boxes();
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let distance = |from, to| if from == to { 10 } else { 21 };
    let distances: Vec<Vec<u32>> = (0..8)
        .map(|from| (0..8).map(|to| distance(from, to)).collect())
        .collect();
    let distances: Vec<&[u32]> = distances.iter().map(Vec::as_slice).collect();
    check(
        &rows,
        &distances,
        &[
            "hidden-hop: the firmware gives every remote node distance 21, which hides a hop: 300 \
             to 301 ns from nodes 0-3 to nodes 4-7, from nodes 4-7 to nodes 0-3, against 200 ns \
             to the nearest nodes at that distance (50 % more)",
        ],
    );
}

#[test]
fn nodes_in_the_wrong_order_are_understated() {
    check(
        &[&[80.0, 260.0, 140.0]],
        &[&[10, 12, 32], &[12, 10, 32], &[32, 32, 10]],
        &[
            "understated: distance 12 measures further than distance 32: 260 ns from node 0 to \
             node 1, against 140 ns",
            "overstated: distance 32 stands for 3.2 times the local latency, measured 1.8; beyond \
             30, Linux is slow to use idle CPUs of other nodes, too",
            "understated: distance 12 stands for 1.2 times the local latency, measured 3.2",
        ],
    );
}

#[test]
fn several_classes_in_the_wrong_order_are_told_apart() {
    // From node 0: the firmware's order is 1, 2, 3; measured, it is 3, 2, 1.
    check(
        &[&[80.0, 260.0, 190.0, 140.0]],
        &[
            &[10, 14, 18, 22],
            &[14, 10, 22, 18],
            &[18, 22, 10, 14],
            &[22, 18, 14, 10],
        ],
        &[
            "understated: distance 14 measures further than distance 18 to 22: 260 ns from node 0 \
             to node 1, against 140 to 190 ns",
            "understated: distance 18 measures further than distance 22: 190 ns from node 0 to \
             node 2, against 140 ns",
            "understated: distance 14 stands for 1.4 times the local latency, measured 3.2",
        ],
    );
}

#[test]
fn nodes_that_measure_like_nearer_ones_are_overstated() {
    check(
        &[&[80.0, 140.0, 142.0, 230.0], &[141.0, 80.0, 231.0, 140.0]],
        &[
            &[10, 16, 22, 28],
            &[16, 10, 28, 22],
            &[22, 28, 10, 16],
            &[28, 22, 16, 10],
        ],
        &[
            "overstated: distance 22 measures like distance 16: 140 to 142 ns from node 0 to node \
             2, from node 1 to node 3, against 140 to 141 ns",
        ],
    );
}

#[test]
fn the_directions_are_compared_both_ways() {
    check(
        &[&[80.0, 140.0], &[180.0, 80.0]],
        &[&[10, 20], &[20, 10]],
        &[
            "asymmetric: the two directions between node 0 and node 1 differ by 28 %: 140 ns from \
             0 to 1, 180 ns from 1 to 0",
        ],
    );
    let several = matrix(&[
        &[80.0, 140.0, 140.0],
        &[180.0, 80.0, 140.0],
        &[160.0, 140.0, 80.0],
    ]);
    assert_eq!(
        findings(&several, None),
        [
            "asymmetric: the two directions between node 0 and nodes 1-2 differ by 14 to 28 %, \
             most: 140 ns from 0 to 1, 180 ns from 1 to 0",
        ],
    );
}

#[test]
fn tables_that_the_kernel_would_throw_away_are_named() {
    let rows: [&[f64]; 2] = [&[80.0, 140.0], &[140.0, 80.0]];
    let found = findings(&matrix(&rows), Some(&table(&[&[11, 10], &[9, 10]])));
    let expected = "distances-impossible: a node is at distance 10 from itself by definition, but \
                    11 from node 0 to node 0; a remote node is further than 10 by definition, but \
                    9 from node 1 to node 0, 10 from node 0 to node 1";
    assert!(found.iter().any(|line| line == expected), "{found:#?}");
}

/// An arbitrary figure, often one of a few.
fn any_figure() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        50.0..500.0f64,
        prop::sample::select(vec![0.0, -1.0, f64::NAN, f64::INFINITY, 80.0, 140.0]),
    ]
}

fn any_cell() -> impl Strategy<Value = MatrixCell> {
    let interval = prop::option::of((any_figure(), any_figure()));
    (prop::option::of(any_figure()), interval, any::<bool>()).prop_map(
        |(value, interval, is_unsteady)| MatrixCell {
            value,
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            is_unsteady,
            ..MatrixCell::default()
        },
    )
}

fn any_matrix() -> impl Strategy<Value = NodeMatrix> {
    (0usize..6, 0usize..6)
        .prop_flat_map(|(rows, columns)| {
            let ids = |count| prop::collection::vec(0u32..7, count);
            let cells = prop::collection::vec(prop::collection::vec(any_cell(), columns), rows);
            (ids(rows), ids(columns), cells)
        })
        .prop_map(|(rows, columns, cells)| {
            let ids = |ids: Vec<u32>| ids.into_iter().map(NodeId).collect();
            NodeMatrix::new(ids(rows), ids(columns), cells).unwrap()
        })
}

fn any_table() -> impl Strategy<Value = DistanceTable> {
    let distance = prop_oneof![
        any::<u32>(),
        prop::sample::select(vec![0, 9, 10, 20, 21, 255])
    ];
    (0usize..6, prop::collection::vec(distance, 36)).prop_map(|(count, distances)| {
        let rows = distances.chunks(6).take(count);
        let rows = rows.map(|row| row[..count].to_vec()).collect();
        DistanceTable::new(nodes(count), rows).unwrap()
    })
}

proptest! {
    #[test]
    fn no_matrix_panics_and_findings_stay_few(
        matrix in any_matrix(),
        distances in prop::option::of(any_table()),
        packages in prop::collection::vec((0u32..7, 0usize..3), 0..3),
    ) {
        let packages: Vec<(NodeId, usize)> =
            packages.into_iter().map(|(node, count)| (NodeId(node), count)).collect();
        let found = of_latency(&LatencyInput::new(&matrix, distances.as_ref(), &packages, &[]));
        // However many rows there are: one of each kind, and of a few kinds one by distance.
        let of = |id: &str| found.iter().filter(|finding| finding.id == id).count();
        for row in FINDINGS {
            let most = match row.id {
                "hidden-hop" | "understated" | "overstated" => 36,
                "local-outlier" => 2,
                _ => 1,
            };
            prop_assert!(of(row.id) <= most, "{found:#?}");
        }
        prop_assert!(found.iter().all(|finding| !finding.message.contains("NaN")));
        let _ = hop_classes(&matrix, distances.as_ref());
        let _ = links(&matrix);
    }

    #[test]
    fn the_unit_of_a_matrix_does_not_change_its_findings(
        rows in prop::collection::vec(prop::collection::vec(50.0..500.0f64, 3), 3),
    ) {
        let of = |factor: f64| {
            let rows: Vec<Vec<f64>> = rows
                .iter()
                .map(|row| row.iter().map(|ns| ns * factor).collect())
                .collect();
            let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
            let distances = table(&[&[10, 20, 30], &[20, 10, 20], &[30, 20, 10]]);
            let found = of_latency(&LatencyInput::new(&matrix(&rows), Some(&distances), &[], &[]));
            found.into_iter().map(|finding| finding.id).collect::<Vec<_>>()
        };
        // A power of two scales without rounding.
        prop_assert_eq!(of(1.0), of(4.0));
    }
}
