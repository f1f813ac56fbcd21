//! The documents that `report` writes are read, and their pages hold the same figures.

use std::fs;
use std::path::{Path, PathBuf};

use model::{
    BytesByNode, Finding, MoveReport, MovedPart, NodeId, NodeSet, ProcessResidency, Residency,
    SegmentKind, SegmentResidency, Severity, ShellLine,
};
use page::{document_page, documents_page};
use report::{DoctorAnswer, Fields};

fn golden(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/latency_golden");
    let path: PathBuf = folder.join(name);
    fs::read_to_string(&path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()))
}

/// Checks what every page has: it is whole, and nothing is fetched.
fn check_page(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    for fetched in ["<link", "<img", "src=", "url(http", "@import", "NaN"] {
        assert!(!page.contains(fetched), "{fetched} in {page}");
    }
}

#[test]
fn latencies_of_article_002_are_drawn_with_what_the_firmware_hides() {
    let page = document_page(&golden("article-002.json")).unwrap();
    check_page(&page);
    assert!(
        page.contains("CPU node 0 to memory node 3: 248.0 ns"),
        "{page}"
    );
    assert!(page.contains("node 3: 2.23 times as far as the firmware says"));
    assert!(page.contains("hidden-hop"));
}

#[test]
fn measured_latencies_have_their_intervals_and_curves() {
    let page = document_page(&golden("measured.json")).unwrap();
    check_page(&page);
    assert!(page.contains("Latency by working set"));
    assert!(
        page.contains("<dt>Host</dt><dd>db1</dd>") && page.contains("Linux 6.1.0"),
        "{page}"
    );
    // A cell that was not measured is hatched, and says why.
    assert!(page.contains("url(#hatch-latency)") && page.contains("not measured"));
}

#[test]
fn bandwidths_are_drawn_with_their_ladders() {
    let page = document_page(&golden("bandwidth.json")).unwrap();
    check_page(&page);
    assert!(page.contains("GB/s") && page.contains("Bandwidth between nodes"));
}

#[test]
fn the_figures_of_a_residency_are_on_its_page() {
    let bytes = |list: &[(u32, u64)]| -> BytesByNode {
        list.iter()
            .map(|(node, bytes)| (NodeId(*node), *bytes))
            .collect()
    };
    let residency = Residency {
        target: "<db1>".to_owned(),
        complete: true,
        memory_nodes: "0-1".parse().unwrap(),
        processes: vec![ProcessResidency {
            pid: 7,
            nodes_of_cpus: NodeSet::of(NodeId(1)),
            private_bytes_by_node: bytes(&[(0, 1 << 20)]),
            ..ProcessResidency::default()
        }],
        segments: vec![SegmentResidency {
            name: "/SYSV00000000 (deleted)".to_owned(),
            kind: SegmentKind::Sysv,
            bytes_by_node: bytes(&[(0, 3 << 30), (1, 1 << 30)]),
            ..SegmentResidency::default()
        }],
        bytes_by_node: bytes(&[(0, (3 << 30) + (1 << 20)), (1, 1 << 30)]),
        findings: vec![Finding {
            id: "cyclops".to_owned(),
            severity: Severity::Error,
            message: "it is on node 0".to_owned(),
            fix: vec![ShellLine::of("numalab move 7")],
            ..Finding::default()
        }],
        ..Residency::default()
    };
    let text = serde_json::to_string(&residency.document()).unwrap();
    let page = document_page(&text).unwrap();
    check_page(&page);
    assert!(
        page.contains("node 0: 3 GiB") && page.contains("node 1: 1 GiB"),
        "{page}"
    );
    assert!(page.contains("CPUs of node 1, private, 1 process to node 0: 1 MiB, remote"));
    assert!(page.contains("&lt;db1&gt;") && !page.contains("<db1>"));
    assert!(page.contains("numalab move 7"));
    let latency = r#"{"format": "numalab.latency/1", "cpu_nodes": [0, 1],
        "memory_nodes": [0, 1], "ns": [[90, 150], [150, 90]]}"#;
    let both = documents_page(&[text.clone(), latency.to_owned()]).unwrap();
    let far = "CPUs of node 1, private, 1 process to node 0: 1 MiB, remote, 150.0 ns";
    assert!(both.contains(far) && !page.contains(" ns"), "{both}");
    assert_eq!(
        page,
        document_page(&text).unwrap(),
        "the same bytes each time"
    );
}

#[test]
fn a_move_is_shown_before_and_after() {
    let report = MoveReport {
        to: "interleave:0-1".to_owned(),
        parts: vec![MovedPart {
            name: "/dev/shm/x".to_owned(),
            bytes_by_node_before: [(NodeId(0), 1 << 30)].into(),
            bytes_by_node_planned: [(NodeId(0), 1 << 29), (NodeId(1), 1 << 29)].into(),
            ..MovedPart::default()
        }],
        bytes_to_move: 1 << 29,
        ..MoveReport::default()
    };
    let text = serde_json::to_string(&report.document()).unwrap();
    let page = document_page(&text).unwrap();
    check_page(&page);
    assert!(page.contains("Memory by node before") && page.contains("Memory by node as planned"));
    assert!(page.contains("A plan: 512 MiB would move to interleave:0-1"));
}

#[test]
fn a_diagnosis_and_a_topology_have_pages() {
    let coverage = model::Coverage {
        looked_for: 27,
        ..model::Coverage::default()
    };
    let page = |diagnosis: &model::Diagnosis| {
        let document = DoctorAnswer {
            target: None,
            diagnosis,
            threads: None,
        };
        let text = serde_json::to_string(&document.document()).unwrap();
        let page = document_page(&text).unwrap();
        check_page(&page);
        page
    };
    let mut diagnosis = model::Diagnosis {
        coverage,
        ..model::Diagnosis::default()
    };
    let clear = page(&diagnosis);
    assert!(clear.contains("No problems found in 27 checks.") && !clear.contains("Plan"));
    diagnosis.plan = Some(model::CurePlan {
        cure: "near-cpus".to_owned(),
        now: vec![ShellLine::of("numalab move 7 --to near-cpus")],
        before: model::MemoryFigures {
            remote_share: 0.75,
            ..model::MemoryFigures::default()
        },
        ..model::CurePlan::default()
    });
    let planned = page(&diagnosis);
    assert!(
        planned.contains("Plan: near-cpus") && planned.contains("75 %"),
        "{planned}"
    );
    assert!(planned.contains("numalab move 7 --to near-cpus"));
    let topology = r#"{"format":"numalab.topology/1","cpus":"0-3","nodes":[
        {"id":0,"cpus":"0-3","memory_bytes":1073741824,"free_bytes":null,"huge_pages":[]},
        {"id":8,"cpus":"","memory_bytes":2147483648,"free_bytes":null,"huge_pages":[]}],
        "distances":[[10,20],[20,10]],"devices":[
        {"address":"0000:00:03.0","kind":"network","names":["eth0"],"node":null}]}"#;
    let page = document_page(topology).unwrap();
    check_page(&page);
    assert!(
        page.contains("2 nodes, 4 CPUs") && page.contains("eth0"),
        "{page}"
    );
    assert!(page.contains("the firmware's distances"), "{page}");
    let latency = r#"{"format": "numalab.latency/1", "cpu_nodes": [0],
        "memory_nodes": [0, 8], "ns": [[90, 231]]}"#;
    let both = documents_page(&[topology.to_owned(), latency.to_owned()]).unwrap();
    let picture = &both[both.find("<svg").unwrap()..both.find("</svg>").unwrap()];
    assert!(picture.contains("measured latency in ns") && picture.contains(">231<"));
}

#[test]
fn several_documents_are_parts_of_one_page_and_a_bad_one_is_named_by_its_place() {
    let documents = [golden("article-002.json"), golden("bandwidth.json")];
    let page = documents_page(&documents).unwrap();
    for title in ["Memory latency", "Memory bandwidth"] {
        assert!(page.contains(&format!("<h2>{title}</h2>")), "{title}");
    }
    assert_eq!(page.matches("<!DOCTYPE html>").count(), 1);
    let alone = documents_page(&documents[..1]).unwrap();
    assert_eq!(alone, document_page(&documents[0]).unwrap());
    let bad = [golden("article-002.json"), "no".to_owned()];
    assert_eq!(documents_page(&bad).unwrap_err().0, 1);
}
