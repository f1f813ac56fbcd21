//! `numalab topology --json` agrees with the kernel on every shape; and the kernel agrees with the
//! shape.

use anyhow::{Context, Result};
use serde_json::Value;

use super::check::{Answers, Check, numalab, shell};
use super::complaints::Complaints;
use super::kernel_view::{self, KernelView, NodeView};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "topology",
    applies_to: |_| true,
    cgroup: CgroupVersion::V2,
    seconds: 30,
    commands: |_| {
        vec![
            // Not zero pages as in the other pools, so that numbers of different pools differ.
            shell("pages", "echo 4 >/proc/sys/vm/nr_hugepages"),
            shell("kernel", kernel_view::SCRIPT),
            numalab("json", &["topology", "--json"]),
            numalab("plain", &["topology"]),
        ]
    },
    judge,
};

fn judge(shape: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    answers.text("pages")?;
    let kernel = kernel_view::parse(answers.text("kernel")?)?;
    compare_with_shape(&kernel, shape, complaints);
    let document = answers.json("json")?;
    compare_machine(&document, &kernel, complaints);
    compare_nodes(&document, &kernel, complaints)?;
    complaints.expect(
        "the plain form says nothing",
        &answers.text("plain")?.is_empty(),
        &false,
    );
    Ok(())
}

/// Compares the kernel's view with the shape: if they differed, the other comparisons would be
/// worthless.
fn compare_with_shape(kernel: &KernelView, shape: &Shape, complaints: &mut Complaints) {
    let online = shape.online_nodes();
    let found: Vec<_> = kernel.nodes.iter().map(|node| node.id as usize).collect();
    complaints.expect("the kernel's nodes against the shape", &found, &online);
    for (node, &from) in kernel.nodes.iter().zip(&online) {
        let distances = online
            .iter()
            .map(|&to| u64::from((shape.distance)(from, to)))
            .collect();
        let what = format!("the kernel's distances from node {from} against the shape");
        complaints.expect(&what, &node.distances, &distances);
        let what = format!("whether node {from} has memory against the shape");
        let has_memory = shape.nodes[from].memory_mib().is_some();
        complaints.expect(&what, &(node.memory_bytes > 0), &has_memory);
    }
}

fn compare_machine(document: &Value, kernel: &KernelView, complaints: &mut Complaints) {
    complaints.expect(
        "format",
        &document["format"],
        &Value::from("numalab.topology/1"),
    );
    complaints.expect(
        "cpus",
        &document["cpus"],
        &Value::from(kernel.cpus.as_str()),
    );
    complaints.expect(
        "packages",
        &document["packages"],
        &Value::from(kernel.packages),
    );
    complaints.expect("cores", &document["cores"], &Value::from(kernel.cores));
    complaints.expect("emulated", &document["emulated"], &Value::from(true));
    let rows: Vec<_> = kernel
        .nodes
        .iter()
        .map(|node| node.distances.clone())
        .collect();
    complaints.expect("distances", &document["distances"], &Value::from(rows));
}

fn compare_nodes(document: &Value, kernel: &KernelView, complaints: &mut Complaints) -> Result<()> {
    let nodes = document["nodes"]
        .as_array()
        .context("`nodes` is not a list")?;
    let ids: Vec<_> = nodes.iter().map(|node| node["id"].as_u64()).collect();
    let expected: Vec<_> = kernel.nodes.iter().map(|node| Some(node.id)).collect();
    complaints.expect("ids of nodes", &ids, &expected);
    for (node, kernel) in nodes.iter().zip(&kernel.nodes) {
        compare_node(node, kernel, complaints);
    }
    Ok(())
}

fn compare_node(node: &Value, kernel: &NodeView, complaints: &mut Complaints) {
    let what = |part: &str| format!("{part} of node {}", kernel.id);
    complaints.expect(
        &what("cpus"),
        &node["cpus"],
        &Value::from(kernel.cpus.as_str()),
    );
    let memory = Value::from(kernel.memory_bytes);
    complaints.expect(&what("memory_bytes"), &node["memory_bytes"], &memory);
    let free = node["free_bytes"].as_u64();
    if free.is_none_or(|free| free > kernel.memory_bytes) {
        complaints.add(format!(
            "{}: found {}, expected at most {memory}",
            what("free_bytes"),
            node["free_bytes"]
        ));
    }
    let pools: Vec<_> = node["huge_pages"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|pool| ["page_bytes", "total", "free"].map(|key| pool[key].as_u64()))
        .collect();
    let expected: Vec<_> = kernel
        .huge_pages
        .iter()
        .map(|pool| pool.map(Some))
        .collect();
    complaints.expect(&what("huge_pages"), &pools, &expected);
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "cpus|0-1|1|2\nnode|0|0-1|1000|10\nhuge|0|2048|4|3\n";
    const DOCUMENT: &str = r#"{"format": "numalab.topology/1", "cpus": "0-1", "packages": 1,
        "cores": 2, "emulated": true, "distances": [[10]], "nodes": [{"id": 0, "cpus": "0-1",
        "memory_bytes": 1024000, "free_bytes": 1000,
        "huge_pages": [{"page_bytes": 2097152, "total": 4, "free": 3}]}]}"#;

    fn complaints(document: &str) -> Vec<String> {
        let kernel = kernel_view::parse(KERNEL).unwrap();
        let document = serde_json::from_str(document).unwrap();
        let mut complaints = Complaints::default();
        compare_machine(&document, &kernel, &mut complaints);
        compare_nodes(&document, &kernel, &mut complaints).unwrap();
        complaints.into_list()
    }

    #[test]
    fn a_document_that_agrees_is_accepted() {
        assert_eq!(complaints(DOCUMENT), Vec::<String>::new());
    }

    #[test]
    fn every_disagreement_is_named_with_its_node() {
        let cases = [
            ("\"cores\": 2", "\"cores\": 1", "cores: found"),
            ("[[10]]", "null", "distances: found"),
            ("1024000", "1024", "memory_bytes of node 0"),
            ("1000,", "null,", "free_bytes of node 0"),
            ("\"free\": 3", "\"free\": 4", "huge_pages of node 0"),
        ];
        for (from, to, expected) in cases {
            let found = complaints(&DOCUMENT.replace(from, to));
            assert!(
                found.iter().any(|text| text.starts_with(expected)),
                "{to}: {found:?}"
            );
        }
    }
}
