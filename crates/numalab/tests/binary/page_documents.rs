//! Documents with every picture that a page may have, as commands write them.
//!
//! Tests of page, report.

use std::fs;
use std::path::Path;

use model::{
    BalanceReport, BalanceSample, BalancedSegment, BytesByNode, FirstTouch, MoveReport, MovedPart,
    NodeId, NodeSet, ProcessResidency, RelationResidency, Relations, Residency, SegmentArea,
    SegmentKind, SegmentResidency, TouchCell, TouchPicture, TouchedSegment,
};
use report::Fields;
use serde::Serialize;

fn json(document: &impl Serialize) -> String {
    serde_json::to_string(document).unwrap()
}

fn bytes(list: &[(u32, u64)]) -> BytesByNode {
    let list = list.iter();
    list.map(|(node, mib)| (NodeId(*node), mib << 20)).collect()
}

/// Documents, each with its name.
pub(crate) fn all() -> Vec<(&'static str, String)> {
    let golden = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = folder.join("../views/report/tests/latency_golden");
        fs::read_to_string(folder.join(name)).unwrap()
    };
    vec![
        ("latency with curves", golden("measured.json")),
        ("bandwidth", golden("bandwidth.json")),
        ("residency", json(&residency().document())),
        ("move", json(&moved().document())),
        ("balance", json(&balance().document())),
        ("first touch", json(&touched().document())),
    ]
}

/// A database on two nodes: a segment of two parts, private memory, and a table.
fn residency() -> Residency {
    let area = |node, mib| SegmentArea {
        policy: format!("bind:{node}"),
        mapped_bytes: mib << 20,
        bytes_by_node: bytes(&[(node, mib)]),
    };
    let process = |pid, node, mib| ProcessResidency {
        pid,
        class: "backend".to_owned(),
        nodes_of_cpus: NodeSet::of(NodeId(node)),
        private_bytes_by_node: bytes(&[(0, mib), (1, 3)]),
        ..ProcessResidency::default()
    };
    let relation = |name: &str, mib| RelationResidency {
        database: Some("shop".to_owned()),
        name: Some(name.to_owned()),
        kind: Some("table".to_owned()),
        buffers: mib << 7,
        bytes: (mib + 1) << 20,
        bytes_by_node: bytes(&[(0, mib), (1, 1)]),
        ..RelationResidency::default()
    };
    Residency {
        target: "postgres:/data".to_owned(),
        complete: true,
        memory_nodes: "0-1".parse().unwrap(),
        processes: vec![process(11, 0, 17), process(12, 1, 19)],
        segments: vec![
            SegmentResidency {
                name: "/SYSV00000001 (deleted)".to_owned(),
                kind: SegmentKind::Sysv,
                areas: vec![area(0, 96), area(1, 37)],
                bytes_by_node: bytes(&[(0, 96), (1, 37)]),
                ..SegmentResidency::default()
            },
            SegmentResidency {
                name: "/dev/shm/PostgreSQL.1".to_owned(),
                kind: SegmentKind::DevShm,
                bytes_by_node: bytes(&[(1, 23)]),
                bytes_without_node: 5 << 20,
                ..SegmentResidency::default()
            },
        ],
        bytes_by_node: bytes(&[(0, 132), (1, 66)]),
        relations: Some(Relations {
            relations: vec![relation("orders", 41), relation("items", 7)],
            ..Relations::default()
        }),
        ..Residency::default()
    }
}

fn moved() -> MoveReport {
    MoveReport {
        target: "postgres:/data".to_owned(),
        to: "1".to_owned(),
        parts: vec![MovedPart {
            name: "/SYSV00000001".to_owned(),
            kind: "System V".to_owned(),
            bytes_by_node_before: bytes(&[(0, 96), (1, 32)]),
            bytes_by_node_planned: bytes(&[(1, 128)]),
            bytes_by_node_after: Some(bytes(&[(0, 2), (1, 126)])),
            bytes_to_move: 96 << 20,
            ..MovedPart::default()
        }],
        bytes_to_move: 96 << 20,
        bytes_moved: Some(94 << 20),
        ..MoveReport::default()
    }
}

/// Ten seconds, the first of which saw no hint fault.
fn balance() -> BalanceReport {
    let sample = |second: u64| BalanceSample {
        at_s: second as f64,
        hint_faults: 100 * (second - 1),
        hint_faults_local: 7 * second * (second - 1),
        pages_watched: 1000,
        pages_changed: 400 / second,
        pages_returned: second,
        ..BalanceSample::default()
    };
    BalanceReport {
        target: "postgres:/data".to_owned(),
        segments: vec![BalancedSegment {
            name: "/SYSV00000001".to_owned(),
            kind: "System V".to_owned(),
            bytes_by_node_before: bytes(&[(0, 96), (1, 32)]),
            bytes_by_node_after: Some(bytes(&[(0, 61), (1, 67)])),
            bytes_elsewhere: Some(35 << 20),
            ..BalancedSegment::default()
        }],
        seconds: Some(10.0),
        samples: (1..=10).map(sample).collect(),
        ..BalanceReport::default()
    }
}

/// Two processes that fill a segment from both ends.
fn touched() -> FirstTouch {
    let cell = |row: u32, column: u32, node: u32| TouchCell {
        column,
        row,
        bytes_by_cpu_node: bytes(&[(node, 3 + u64::from(node))]),
    };
    let cells = (0..12).flat_map(|row| {
        let low = (0..3).map(move |cell| (row, 3 * row + cell, 0));
        let high = (0..2).map(move |cell| (row, 120 - 2 * row + cell, 1));
        low.chain(high)
    });
    FirstTouch {
        target: "postgres:/data".to_owned(),
        seconds: 14.0,
        complete: true,
        memory_nodes: "0-1".parse().unwrap(),
        segments: vec![TouchedSegment {
            name: "/SYSV00000001".to_owned(),
            kind: SegmentKind::Sysv,
            page_bytes: 4096,
            mapped_bytes: 1 << 30,
            touched_bytes: 204 << 20,
            picture: Some(TouchPicture {
                columns: 128,
                rows: 12,
                first_s: 0.5,
                last_s: 12.9,
                cells: cells
                    .map(|(row, column, node)| cell(row, column, node))
                    .collect(),
            }),
            ..TouchedSegment::default()
        }],
        ..FirstTouch::default()
    }
}
