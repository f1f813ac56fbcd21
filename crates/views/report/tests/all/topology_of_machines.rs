//! Tests texts and pictures of every machine whose topology is a golden file of crate topology.

use std::fs;

use model::Topology;
use report::{Fields, TextOptions, topology_cpus_text, topology_svg, topology_text};
use testing::golden;

/// Returns the names of the machines, in order.
fn names() -> Vec<String> {
    let files = fs::read_dir(golden::path("topology")).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = files
        .filter_map(|file| file.strip_suffix(".json").map(str::to_owned))
        .collect();
    names.sort();
    assert!(names.len() >= 20, "{names:?}");
    names
}

fn topology(name: &str) -> Topology {
    serde_json::from_str(&golden::read(&format!("topology/{name}.json"))).unwrap()
}

#[test]
fn every_machine_has_its_text() {
    for name in names() {
        let text = topology_text(&topology(&name), &TextOptions::default());
        golden::check(&format!("topology/{name}.txt"), &text);
    }
}

#[test]
fn cpus_are_listed_one_to_a_row() {
    for name in [
        "article-000",
        "offline-cpus",
        "captured-sparse",
        "no-node-directory",
        "incomplete-power",
        "incomplete-dies-only",
        "incomplete-sparc",
    ] {
        let text = topology_cpus_text(&topology(name), &TextOptions::default());
        golden::check(&format!("topology/{name}.cpus.txt"), &text);
    }
    let huge = topology_cpus_text(&topology("huge"), &TextOptions::default());
    // Two tables, each with a heading, titles and a rule; 2048 CPUs; an empty line; 32 packages.
    assert_eq!(huge.lines().count(), 3 + 2048 + 1 + 3 + 32);
}

#[test]
fn pictures_are_the_same_every_time() {
    for name in [
        "article-000",
        "article-003",
        "captured-memory-only-node",
        "one-node",
        "asymmetric",
        "incomplete-longer-distances",
        "incomplete-nodes-without-cpu-lists",
    ] {
        golden::check(
            &format!("topology/{name}.svg"),
            &topology_svg(&topology(name), None),
        );
    }
}

#[test]
fn every_machine_has_a_picture() {
    for name in names() {
        let svg = topology_svg(&topology(&name), None);
        assert!(
            svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
            "{name}"
        );
    }
}

#[test]
fn the_document_has_its_format_and_all_that_is_promised() {
    for name in names() {
        let topology = topology(&name);
        let document = serde_json::to_value(topology.document()).unwrap();
        assert_eq!(document["format"], "numalab.topology/1");
        for field in ["nodes", "distances", "cpus", "packages", "cores"] {
            assert!(document.get(field).is_some(), "{name}: {field}");
        }
        for node in document["nodes"].as_array().unwrap() {
            for field in ["id", "cpus", "memory_bytes", "free_bytes", "huge_pages"] {
                assert!(node.get(field).is_some(), "{name}: {field}");
            }
        }
        assert_eq!(
            serde_json::from_value::<Topology>(document).unwrap(),
            topology,
            "{name}"
        );
    }
}

#[test]
fn a_hostile_name_disturbs_neither_terminal_nor_picture() {
    let hostile = Topology {
        cpu_model: Some("\u{1b}[2J</text><script>".to_owned()),
        ..topology("one-node")
    };
    assert!(!topology_text(&hostile, &TextOptions::default()).contains('\u{1b}'));
    let svg = topology_svg(&hostile, None);
    assert!(!svg.contains('\u{1b}') && !svg.contains("<script>"));
}
