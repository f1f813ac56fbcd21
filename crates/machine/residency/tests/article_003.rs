//! What article 003 read by hand from numa_maps on 32 nodes: pools per node where before all was
//! interleaved, and a parallel worker that touches the pool of its own node most.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use linux::Root;
use model::{BytesByNode, Layout, NodeId, Residency, ResidencyMethod};
use residency::{Options, inspect};

const HUGE: u64 = 2 << 20;

/// The captured guest of 32 nodes with one process of the article.
fn look(name: &str, cpus: &str, numa_maps: &str) -> Residency {
    let mut tree = testing::Tree::captured("thirty-two-node").unwrap();
    let zeros = "0 ".repeat(40);
    tree.set(
        "proc/4242/stat",
        format!("4242 ({name}) S 1 1 1 0 -1 0 {zeros}"),
    );
    tree.set("proc/4242/cmdline", format!("{name}\0"));
    let status = format!("Name:\t{name}\nCpus_allowed_list:\t{cpus}\nMems_allowed_list:\t0-31\n");
    tree.set("proc/4242/status", status);
    tree.set("proc/4242/numa_maps", numa_maps);
    let unpacked = tree.expand().unwrap();
    let root = Root::at(unpacked.path()).unwrap();
    let topology = topology::read(&root).unwrap();
    let target = "oracle:slob".parse().unwrap();
    inspect(&root, &target, &topology, &Options::default()).unwrap()
}

fn pages(bytes: &BytesByNode, node: u32) -> u64 {
    bytes.get(&NodeId(node)).copied().unwrap_or(0) / HUGE
}

#[test]
fn the_worker_of_node_25_touches_the_pool_of_node_25_most() {
    let found = look(
        "ora_p000_slob",
        "25",
        include_str!("article_003/p000-after-scan.txt"),
    );
    assert_eq!(found.method, ResidencyMethod::NumaMaps);
    assert!(!found.complete);
    assert_eq!(found.layout, Layout::PoolPerNode);
    let worker = &found.processes[0];
    assert_eq!(
        (worker.class.as_str(), worker.pinned_to_node),
        ("parallel worker", Some(NodeId(25)))
    );
    let touched = worker.touched_pool_bytes_by_node.as_ref().unwrap();
    assert_eq!(pages(touched, 25), 50176);
    // The lines whose policy is `prefer:`, added up by hand: 156755 pages, of which 32 % are local.
    let of_pools = 156_755;
    assert_eq!(touched.values().sum::<u64>() / HUGE, of_pools);
    // Every node's total: the interleaved 144 pages and the pool; node 26 has two pages more.
    assert_eq!(pages(&found.bytes_by_node, 25), 50176 + 144);
    assert_eq!(pages(&found.bytes_by_node, 26), 6145 + 144 + 2);
    let shared = worker.shared_local_share.unwrap();
    assert!(
        (shared - 50320.0 / (of_pools as f64 + 4610.0)).abs() < 1e-9,
        "{shared}"
    );
}

#[test]
fn the_change_from_interleaving_to_pools_is_recognised() {
    let off = look(
        "ora_pmon_slob",
        "0-31",
        include_str!("article_003/pmon-numa-off.txt"),
    );
    assert_eq!(off.layout, Layout::Interleaved);
    let on = look(
        "ora_pmon_slob",
        "0-31",
        include_str!("article_003/pmon-numa-on.txt"),
    );
    assert_eq!(on.layout, Layout::PoolPerNode);
    assert_eq!(pages(&on.bytes_by_node, 25), 112 + 1536);
    assert!(on.processes[0].pinned_to_node.is_none());
}

#[test]
fn a_file_cut_in_the_middle_gives_a_lower_bound_and_says_so() {
    let whole = include_str!("article_003/pmon-numa-on.txt");
    let cut = &whole[..whole.find("52680000000").unwrap() + 5];
    let found = look("ora_pmon_slob", "0-31", cut);
    assert!(
        found.gaps.iter().any(|gap| gap.contains("numa_maps, line")),
        "{:?}",
        found.gaps
    );
    assert_eq!(pages(&found.bytes_by_node, 25), 112 + 1536);
    assert!(!found.complete);
}

#[test]
fn a_line_with_more_memory_than_machines_have_is_passed_over_and_named() {
    let whole = include_str!("article_003/pmon-numa-on.txt");
    let large = "1000 default file=/a N0=9007199254740991 N1=1 kernelpagesize_kB=4\n";
    let sum = "2000 default file=/b N0=18446744073709551615 N1=18446744073709551615\n";
    let found = look("ora_pmon_slob", "0-31", &format!("{whole}{large}{sum}"));
    assert_eq!(pages(&found.bytes_by_node, 25), 112 + 1536);
    let sentence = "a line of numa_maps of process 4242 counts more memory than machines have";
    assert!(
        found.gaps.iter().any(|gap| gap == sentence),
        "{:?}",
        found.gaps
    );
}

#[test]
fn a_kernel_without_numa_maps_is_named() {
    let mut tree = testing::Tree::captured("two-node").unwrap();
    let zeros = "0 ".repeat(40);
    tree.set("proc/7/stat", format!("7 (mysqld) S 1 1 1 0 -1 0 {zeros}"));
    tree.set("proc/7/maps", "1000-2000 rw-p 00000000 00:00 0 \n");
    let unpacked = tree.expand().unwrap();
    let root = Root::at(unpacked.path()).unwrap();
    let topology = topology::read(&root).unwrap();
    let target = "mysqld".parse().unwrap();
    let error = inspect(&root, &target, &topology, &Options::default()).unwrap_err();
    let expected = "cannot read anything of mysqld: process 7 has no numa_maps: the kernel was \
                    built without NUMA, or it was not captured";
    assert_eq!(error.to_string(), expected);
}
