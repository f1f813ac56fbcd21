//! One machine, shown by other kernels and copied by other tools: its topology is the same, or says
//! what is unknown.

use std::collections::BTreeMap;
use std::fs;

use linux::Root;
use model::Topology;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;
use testing::tree::Unpacked;
use testing::variants::{with_leftovers, with_masks, with_nul};
use testing::{Tree, incomplete_machines, tree, unusual_machines};

/// Machines that leave nothing out on purpose.
fn whole_machines() -> Vec<(String, Tree)> {
    let captured = tree::names().unwrap().into_iter();
    let captured = captured.map(|name| {
        let tree = Tree::captured(&name).unwrap();
        (name, tree)
    });
    let described = unusual_machines::all().into_iter();
    let described = described.map(|(name, machine)| (name.to_owned(), machine.tree()));
    captured
        .chain(described)
        // 2048 CPUs take longer to write than all others together.
        .filter(|(name, _)| name != "huge")
        .collect()
}

fn all_machines() -> Vec<(String, Tree)> {
    let incomplete = incomplete_machines::all().into_iter();
    let incomplete = incomplete.map(|(name, tree)| (name.to_owned(), tree));
    whole_machines().into_iter().chain(incomplete).collect()
}

fn topology_of(unpacked: &Unpacked) -> Topology {
    topology::read(&Root::at(unpacked.path()).unwrap()).unwrap()
}

#[test]
fn masks_and_nuls_change_nothing() {
    type Variant = fn(&Tree) -> Tree;
    let variants: [(&str, Variant); 3] = [
        ("masks", with_masks),
        ("a NUL at the end", with_nul),
        ("masks, and more behind a NUL", |tree| {
            with_leftovers(&with_masks(tree))
        }),
    ];
    for (name, tree) in all_machines() {
        let original = topology_of(&tree.expand_in_memory().unwrap());
        for (what, variant) in variants {
            let topology = topology_of(&variant(&tree).expand_in_memory().unwrap());
            assert_eq!(topology, original, "{name}, {what}");
        }
    }
}

#[test]
fn the_nodes_alone_are_those_of_the_whole() {
    for (name, tree) in all_machines() {
        let unpacked = tree.expand_in_memory().unwrap();
        let root = Root::at(unpacked.path()).unwrap();
        let nodes = topology::read_nodes(&root).unwrap();
        let whole = topology::read(&root).unwrap();
        let of = |it: Topology| {
            let cpus = (it.cpus, it.offline_cpus, it.possible_cpus, it.isolated_cpus);
            let memory = (it.memory_bytes, it.huge_pages, it.node_is_implied);
            (it.nodes, cpus, memory, it.settings.interleave_weights)
        };
        assert_eq!(of(nodes), of(whole), "{name}");
    }
}

/// Whether everything in `new` that is not as in `old` is null or left out.
fn is_same_or_null(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (_, Value::Null) => true,
        (Value::Object(old), Value::Object(new)) => {
            let is_known = |key: &str| old.contains_key(key);
            let same = |(key, value): (&String, &Value)| {
                is_same_or_null(value, new.get(key).unwrap_or(&Value::Null))
            };
            new.keys().all(|key| is_known(key)) && old.iter().all(same)
        }
        (Value::Array(old), Value::Array(new)) => {
            let pairs = || old.iter().zip(new);
            old.len() == new.len() && pairs().all(|(old, new)| is_same_or_null(old, new))
        }
        _ => old == new,
    }
}

fn is_same_or_says_what_is_unknown(original: &Topology, topology: &Topology) -> bool {
    let is_new = |gap: &String| !original.gaps.contains(gap);
    let json = |topology: &Topology| {
        let gaps = Vec::new();
        // Two files make its name.
        let hypervisor = topology.hypervisor.as_ref().map(|_| "named".to_owned());
        serde_json::to_value(Topology {
            gaps,
            hypervisor,
            ..topology.clone()
        })
        .unwrap()
    };
    topology.gaps.iter().any(is_new) || is_same_or_null(&json(original), &json(topology))
}

/// A path with `#` for each number: one of these stands for all.
fn kind_of(path: &str) -> String {
    let is_digit = |char: char| char.is_ascii_digit();
    let parts = path
        .split('/')
        .map(|part| match part.trim_end_matches(is_digit) {
            stem if stem.len() < part.len() && !part.contains(':') => format!("{stem}#"),
            _ => part.to_owned(),
        });
    parts.collect::<Vec<_>>().join("/")
}

#[test]
fn without_any_one_file_a_machine_is_the_same_or_says_what_is_unknown() {
    for (name, tree) in whole_machines() {
        let unpacked = tree.expand_in_memory().unwrap();
        let original = topology_of(&unpacked);
        let files: Vec<&str> = tree
            .paths()
            .filter(|path| tree.text(path).is_some())
            .collect();
        // The last of each kind: a first CPU is special, it cannot be switched off. But a first CPU
        // speaks for the others of its core.
        let last: BTreeMap<String, &str> =
            files.iter().map(|path| (kind_of(path), *path)).collect();
        let of_cpu = |path: &&&str| path.contains("/topology/") || path.contains("/cache/");
        let first: BTreeMap<String, &str> = files
            .iter()
            .rev()
            .filter(of_cpu)
            .map(|path| (kind_of(path), *path))
            .collect();
        // Each reading of a large machine takes long: every tenth kind of file must do.
        let step = if tree.paths().count() < 400 { 1 } else { 10 };
        for path in last.into_values().chain(first.into_values()).step_by(step) {
            let file = unpacked.path().join(path);
            let content = fs::read(&file).unwrap();
            fs::remove_file(&file).unwrap();
            let topology = topology_of(&unpacked);
            assert!(
                is_same_or_says_what_is_unknown(&original, &topology),
                "{name} without {path}: {topology:#?}"
            );
            fs::write(&file, content).unwrap();
        }
    }
}

#[test]
fn without_any_files_a_machine_is_read_or_refused_but_nothing_panics() {
    let machines = all_machines();
    let small: Vec<_> = machines
        .into_iter()
        .filter(|(_, tree)| tree.paths().count() < 400)
        .collect();
    let some_files = prop::collection::vec(any::<prop::sample::Index>(), 1..60);
    let cases = (any::<prop::sample::Index>(), some_files, any::<bool>());
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::with_cases(64)
    });
    runner
        .run(&cases, |(machine, files, has_masks)| {
            let (name, tree) = machine.get(&small);
            let mut tree = if has_masks {
                with_masks(tree)
            } else {
                tree.clone()
            };
            let paths: Vec<String> = tree.paths().map(str::to_owned).collect();
            for file in files {
                tree.remove(file.get::<String>(&paths));
            }
            let unpacked = tree.expand_in_memory().unwrap();
            let root = Root::at(unpacked.path()).unwrap();
            if let Ok(topology) = topology::read(&root) {
                let on_nodes = topology.nodes.iter().flat_map(|node| node.cpus.iter());
                let on_nodes: Vec<_> = on_nodes.collect();
                let mut once = on_nodes.clone();
                once.sort_unstable();
                once.dedup();
                prop_assert_eq!(
                    on_nodes.len(),
                    once.len(),
                    "{}: a CPU is on two nodes",
                    name
                );
                prop_assert!(
                    once.iter().all(|cpu| topology.cpus.contains(*cpu)),
                    "{}",
                    name
                );
            }
            Ok(())
        })
        .unwrap();
}
