//! The table of findings against its page, and what captured machines are found to have.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::BTreeSet;

use linux::Root;
use numa::doctor::{FINDINGS, Patient, diagnose};

#[test]
fn the_page_has_the_table() {
    let page = include_str!("../../../docs/findings.md");
    let rows = FINDINGS.iter().map(|rule| {
        format!(
            "| `{}` | {} | {} |\n",
            rule.id,
            rule.severity.name(),
            rule.about
        )
    });
    let rows: String = rows.collect();
    assert!(page.contains(&rows), "docs/findings.md should have\n{rows}");
    let ids: BTreeSet<&str> = FINDINGS.iter().map(|rule| rule.id).collect();
    assert_eq!(ids.len(), FINDINGS.len());
}

/// What is found on a captured machine, whose files may be changed before.
fn ids(name: &str, changes: &[(&str, &str)]) -> Vec<String> {
    let mut tree = testing::Tree::captured(name).unwrap();
    for (path, content) in changes {
        tree.set(path, *content);
    }
    let unpacked = tree.expand().unwrap();
    let root = Root::at(unpacked.path()).unwrap();
    let topology = numa::topology::read(&root).unwrap();
    let found = diagnose(&Patient::read(&root, topology, None).unwrap());
    found.into_iter().map(|diagnosis| diagnosis.id).collect()
}

#[test]
fn captured_machines_have_what_they_have_and_nothing_else() {
    let none: [&str; 0] = [];
    assert_eq!(ids("one-node", &[]), none);
    assert_eq!(ids("eight-node", &[]), none);
    assert_eq!(ids("four-node-ring", &[]), ["distances-flat"]);
}

#[test]
fn a_setting_of_a_captured_machine_is_found() {
    assert_eq!(
        ids("eight-node", &[("proc/sys/vm/zone_reclaim_mode", "1\n")]),
        ["zone-reclaim"]
    );
    let numastat = "numa_hit 1000000\nnuma_miss 0\nnuma_foreign 90000\n";
    assert_eq!(
        ids(
            "eight-node",
            &[("sys/devices/system/node/node3/numastat", numastat)]
        ),
        ["allocations-elsewhere"]
    );
    let distance = "sys/devices/system/node/node7/distance";
    let row = "22 22 22 22 12 12 13 10\n";
    let flat = ids("eight-node", &[(distance, &row.replace("13", "255"))]);
    assert!(
        flat.contains(&"distances-impossible".to_owned()),
        "{flat:?}"
    );
}
