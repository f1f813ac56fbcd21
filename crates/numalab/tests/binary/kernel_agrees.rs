//! What numalab says of this machine against the kernel's own files. Guests run this, too, so that
//! it holds on machines with many nodes, with sparse ids, and without CPUs or memory on a node.
//!
//! Tests of topology, linux.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testing::{Need, not_run};

use crate::laboratory::Laboratory;

const SYSTEM: &str = "/sys/devices/system";

fn text(path: &Path) -> String {
    let text = fs::read_to_string(path);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.trim().to_owned()
}

fn number(path: &Path) -> u64 {
    text(path).parse().unwrap()
}

/// Returns the numbered entries of a folder, such as `node0`, by their number.
fn numbered(folder: &Path, before: &str, after: &str) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let id = |name: &str| {
        let id = name.strip_prefix(before)?.strip_suffix(after)?;
        id.parse().ok()
    };
    let mut found: Vec<(u64, PathBuf)> = entries
        .filter_map(|entry| Some((id(entry.file_name().to_str()?)?, entry.path())))
        .collect();
    found.sort();
    found
}

/// Returns the different values of some files of the CPUs that are online.
fn values_of_cpus(files: &[&str]) -> BTreeSet<Vec<String>> {
    let cpus = numbered(&Path::new(SYSTEM).join("cpu"), "cpu", "");
    // A CPU that is switched off has no topology.
    let folders = cpus.iter().map(|(_, path)| path.join("topology"));
    let online = folders.filter(|folder| folder.is_dir());
    online
        .map(|folder| files.iter().map(|file| text(&folder.join(file))).collect())
        .collect()
}

#[test]
fn the_machine_is_the_one_that_the_kernel_shows() {
    let document = Laboratory::new().document(&["topology", "--json"]);
    assert_eq!(document["format"], "numalab.topology/1");
    let online = text(&Path::new(SYSTEM).join("cpu/online"));
    assert_eq!(document["cpus"], online);
    let packages = values_of_cpus(&["physical_package_id"]);
    assert_eq!(document["packages"], packages.len());
    let cores = values_of_cpus(&["physical_package_id", "core_id"]);
    assert_eq!(document["cores"], cores.len());
    let nodes = numbered(&Path::new(SYSTEM).join("node"), "node", "");
    let rows: Vec<Vec<u64>> = nodes
        .iter()
        .map(|(_, folder)| {
            let row = text(&folder.join("distance"));
            row.split_whitespace()
                .map(|it| it.parse().unwrap())
                .collect()
        })
        .collect();
    assert_eq!(document["distances"], json!(rows));
    let found = document["nodes"].as_array().unwrap();
    let ids: Vec<_> = found.iter().map(|node| node["id"].as_u64()).collect();
    let expected: Vec<_> = nodes.iter().map(|(id, _)| Some(*id)).collect();
    assert_eq!(ids, expected);
    for (node, (id, folder)) in found.iter().zip(&nodes) {
        node_is_as_in(node, *id, folder);
    }
}

#[track_caller]
fn node_is_as_in(node: &Value, id: u64, folder: &Path) {
    assert_eq!(node["cpus"], text(&folder.join("cpulist")), "node {id}");
    let meminfo = text(&folder.join("meminfo"));
    let mut lines = meminfo.lines();
    let memory_kib = lines.find_map(|line| {
        let (_, rest) = line.split_once("MemTotal:")?;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    });
    let memory_bytes = memory_kib.unwrap() * 1024;
    assert_eq!(node["memory_bytes"], memory_bytes, "node {id}");
    let free_bytes = node["free_bytes"].as_u64();
    assert!(
        free_bytes.is_some_and(|free| free <= memory_bytes),
        "{node:#}"
    );
    let pools = numbered(&folder.join("hugepages"), "hugepages-", "kB");
    let pools: Vec<_> = pools
        .iter()
        .map(|(kib, pool)| {
            let [total, free] = ["nr_hugepages", "free_hugepages"].map(|it| number(&pool.join(it)));
            [kib * 1024, total, free]
        })
        .collect();
    let found = node["huge_pages"].as_array().into_iter().flatten();
    let found: Vec<_> = found
        .map(|pool| ["page_bytes", "total", "free"].map(|key| pool[key].as_u64().unwrap()))
        .collect();
    assert_eq!(found, pools, "node {id}");
}

/// If it were another, comparing numalab with its kernel would be worthless.
#[test]
fn the_guest_is_the_one_that_was_asked_for() {
    let test = "the_guest_is_the_one_that_was_asked_for";
    let Ok(asked) = std::env::var("NUMALAB_GUEST_NODES") else {
        return not_run(
            test,
            Need::Guest,
            "every guest runs it (cargo xtask test --only guest)",
        );
    };
    let nodes = numbered(&Path::new(SYSTEM).join("node"), "node", "");
    let shown = nodes.iter().map(|(id, folder)| {
        let has_memory = !text(&folder.join("meminfo")).contains("MemTotal:              0 kB");
        format!("{id}|{has_memory}|{}", text(&folder.join("distance")))
    });
    assert_eq!(shown.collect::<Vec<_>>().join("\n"), asked);
    let document = Laboratory::new().document(&["topology", "--json"]);
    assert_eq!(document["emulated"], true);
}

/// Where CPUs are many, threads have helped to read what each says before the program starts.
#[test]
fn a_program_is_on_the_last_cpu_with_any_number_of_cpus() {
    let cpus = text(&Path::new(SYSTEM).join("cpu/online"));
    let last = cpus.rsplit([',', '-']).next().unwrap();
    let script = "grep Cpus_allowed_list /proc/self/status; sleep 3";
    // Without a policy: the node of that CPU may have no memory.
    let verified = ["bind", "-C", last, "--verify", "--after", "0.2"];
    let words = [&verified[..], &["sh", "-c", script]].concat();
    let finished = Laboratory::new().run(&words).with_code(0);
    assert_eq!(finished.stdout, format!("Cpus_allowed_list:\t{last}\n"));
}
