//! Malformed machines: the message names the file, the line and what was expected. What is missing
//! is unknown and named, and no error.

use std::fs;

use linux::Root;
use model::{NodeId, Topology};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use testing::{Tree, unusual_machines};

/// A tree, spoilt, and what reading it says.
fn read(spoil: impl FnOnce(&mut Tree)) -> Result<Topology, String> {
    let mut tree = unusual_machines::offline_cpus().tree();
    spoil(&mut tree);
    let unpacked = tree.expand_in_memory().unwrap();
    let root = Root::at(unpacked.path()).unwrap();
    topology::read(&root).map_err(|error| unpacked.without_directory(&error.to_string()))
}

fn check(path: &str, content: impl Into<Vec<u8>>, expected: &str) {
    let error = read(|tree| {
        tree.set(path, content);
    })
    .unwrap_err();
    assert_eq!(error, format!("ROOT/{path}{expected}"));
}

/// What is said of a machine after it was spoilt.
fn gaps(spoil: impl FnOnce(&mut Tree)) -> Vec<String> {
    read(spoil).unwrap().gaps
}

/// Compares it: one sentence for each kind of gap.
fn check_gaps(spoil: impl FnOnce(&mut Tree), expected: &[&str]) {
    assert_eq!(gaps(spoil), expected);
}

/// Takes a file away.
fn without(path: &str) -> impl FnOnce(&mut Tree) {
    move |tree| {
        tree.remove(path);
    }
}

/// Puts something else into a file.
fn with(path: &str, content: &'static str) -> impl FnOnce(&mut Tree) {
    move |tree| {
        tree.set(path, content);
    }
}

const NODE: &str = "sys/devices/system/node";
const CPU: &str = "sys/devices/system/cpu";

#[test]
fn free_memory_above_the_total_is_said_and_not_used() {
    let meminfo = |total: u32| format!("Node 1 MemTotal: {total} kB\nNode 1 MemFree: 9 kB\n");
    let topology = read(|tree| {
        tree.set(&format!("{NODE}/node1/meminfo"), meminfo(8));
        let pool = format!("{NODE}/node1/hugepages/hugepages-2048kB");
        tree.set(&format!("{pool}/nr_hugepages"), "3\n");
        tree.set(&format!("{pool}/free_hugepages"), "4\n");
        tree.set("proc/meminfo", "MemTotal: 7 kB\nMemFree: 8 kB\n");
    });
    let topology = topology.unwrap();
    let has = |gap: &str| assert!(topology.gaps.iter().any(|it| it == gap), "{topology:#?}");
    has("machine: free memory unknown (MemFree above MemTotal in meminfo)");
    has("node 1: free memory unknown (MemFree above MemTotal in meminfo)");
    has("node 1: free huge pages of a pool unknown (free_hugepages above nr_hugepages)");
    let node = topology.node(NodeId(1)).unwrap();
    assert_eq!((node.memory_bytes, node.free_bytes), (Some(8 << 10), None));
    assert_eq!(node.huge_pages[0].free, None);
    let equal = read(|tree| {
        tree.set(&format!("{NODE}/node1/meminfo"), meminfo(9));
    });
    let equal = equal.unwrap().node(NodeId(1)).unwrap().free_bytes;
    assert_eq!(equal, Some(9 << 10));
}

#[test]
fn distances() {
    let path = format!("{NODE}/node1/distance");
    check(
        &path,
        "21 x\n",
        ", line 1: expected a distance such as 10 or 21, found \"x\"",
    );
    check(
        &path,
        "21 -1\n",
        ", line 1: expected a distance such as 10 or 21, found \"-1\"",
    );
    check(
        &path,
        b"21 \xff\n",
        ", line 1: expected text in UTF-8, found byte 0xff",
    );
}

#[test]
fn lists_of_cpus_and_nodes() {
    let garbage = ", line 1: expected a list of ids such as 0-3,8, found ";
    check(
        &format!("{NODE}/node0/cpulist"),
        "0-\n",
        &format!("{garbage}\"0-\""),
    );
    check(
        &format!("{NODE}/possible"),
        "all\n",
        &format!("{garbage}\"all\""),
    );
    check(
        &format!("{CPU}/online"),
        "0-3;8\n",
        &format!("{garbage}\"0-3;8\""),
    );
    check(
        &format!("{CPU}/present"),
        "\u{1b}[31m\n",
        &format!("{garbage}\"\\u{{1b}}[31m\""),
    );
    check(
        &format!("{CPU}/possible"),
        "0-4294967295\n",
        ", line 1: expected ids up to 65535, found \"0-4294967295\"",
    );
    check(
        &format!("{CPU}/isolated"),
        "9-3\n",
        ", line 1: expected a range whose end is not below its start, found \"9-3\"",
    );
    check(
        &format!("{CPU}/cpu0/topology/thread_siblings_list"),
        "0,,8\n",
        &format!("{garbage}\"\""),
    );
    check(
        &format!("{CPU}/cpu0/cache/index3/shared_cpu_list"),
        "x\n",
        &format!("{garbage}\"x\""),
    );
    check(
        &format!("{NODE}/online"),
        "0-1;\n",
        &format!("{garbage}\"0-1;\""),
    );
}

#[test]
fn masks() {
    let error = read(|tree| {
        tree.remove(&format!("{NODE}/node1/cpulist"));
        tree.set(&format!("{NODE}/node1/cpumap"), "00000000,0-3\n");
    });
    assert_eq!(
        error.unwrap_err(),
        format!(
            "ROOT/{NODE}/node1/cpumap, line 1: expected a mask such as 00000000,000000ff, found \
             \"00000000,0-3\""
        )
    );
}

#[test]
fn memory() {
    let path = format!("{NODE}/node0/meminfo");
    check(
        &path,
        "Node 0 MemTotal: 12",
        ", line 1: expected MemTotal in kB, found \"12\"",
    );
    check(
        "proc/meminfo",
        "MemTotal: 1 kB\nMemFree: many kB\n",
        ", line 2: expected MemFree in kB, found \"many kB\"",
    );
}

#[test]
fn huge_pages() {
    let pool = format!("{NODE}/node0/hugepages/hugepages-2048kB");
    check(
        &format!("{pool}/nr_hugepages"),
        "-1\n",
        ", line 1: expected a number, found \"-1\"",
    );
    check(
        &format!("{pool}/free_hugepages"),
        "\n",
        ", line 1: expected a number, found \"\"",
    );
    let machine = "sys/kernel/mm/hugepages";
    check(
        &format!("{machine}/hugepages-2048kB/resv_hugepages"),
        "x",
        ", line 1: expected a number, found \"x\"",
    );
    let error = read(|tree| {
        tree.set(&format!("{machine}/hugepages-2M/nr_hugepages"), "0\n");
    });
    assert_eq!(
        error.unwrap_err(),
        format!("ROOT/{machine}/hugepages-2M: expected a name such as hugepages-2048kB")
    );
}

#[test]
fn cpus_and_caches() {
    let topology = format!("{CPU}/cpu0/topology");
    check(
        &format!("{topology}/core_id"),
        "0x10\n",
        ", line 1: expected a number, found \"0x10\"",
    );
    check(
        &format!("{topology}/physical_package_id"),
        "99999999999\n",
        ", line 1: expected a number up to 4294967295, found \"99999999999\"",
    );
    let cache = format!("{CPU}/cpu0/cache/index0");
    check(
        &format!("{cache}/level"),
        "L1\n",
        ", line 1: expected a number, found \"L1\"",
    );
    check(
        &format!("{cache}/type"),
        "data\n",
        ", line 1: expected Data, Instruction or Unified, found \"data\"",
    );
    check(
        &format!("{cache}/size"),
        "big\n",
        ", line 1: expected a size such as 32K, found \"big\"",
    );
    check(
        &format!("{CPU}/cpu0/cpufreq/scaling_governor"),
        "\u{1b}c\n",
        ", line 1: expected a name, found \"\\u{1b}c\"",
    );
}

#[test]
fn settings_and_devices() {
    check(
        "proc/sys/kernel/numa_balancing",
        "on\n",
        ", line 1: expected a number, found \"on\"",
    );
    check(
        "sys/kernel/mm/transparent_hugepage/enabled",
        "always\n",
        ", line 1: expected a choice such as \"always [never]\", found \"always\"",
    );
    check(
        "sys/kernel/mm/numa/demotion_enabled",
        "1\n",
        ", line 1: expected true or false, found \"1\"",
    );
    check(
        "proc/mounts",
        "proc /proc proc rw 0 0\n\n",
        ", line 2: expected a mount: source, directory, type, options, found \"\"",
    );
    check(
        "sys/bus/pci/devices/0000:3b:00.0/class",
        "network\n",
        ", line 1: expected a class code such as 0x020000, found \"network\"",
    );
    check(
        "sys/bus/pci/devices/0000:3b:00.0/numa_node",
        "far\n",
        ", line 1: expected a number, found \"far\"",
    );
}

#[test]
fn ratings() {
    let initiators = format!("{NODE}/node0/access1/initiators");
    check(
        &format!("{initiators}/read_latency"),
        "fast\n",
        ", line 1: expected a number, found \"fast\"",
    );
    check(
        &format!("{initiators}/write_bandwidth"),
        "18446744073709551615\n",
        ", line 1: expected a smaller number, found \"18446744073709551615\"",
    );
}

#[test]
fn names_of_nodes_and_cpus() {
    for (directory, name) in [(NODE, "node"), (CPU, "cpu")] {
        let error = read(|tree| {
            tree.set(&format!("{directory}/{name}99999999999/cpulist"), "");
        });
        assert_eq!(
            error.unwrap_err(),
            format!(
                "ROOT/{directory}/{name}99999999999: expected a number up to 65535 after \"{name}\""
            )
        );
    }
}

#[test]
fn a_directory_that_is_no_machine() {
    let unpacked = Tree::default().expand_in_memory().unwrap();
    let error = topology::read(&Root::at(unpacked.path()).unwrap()).unwrap_err();
    assert_eq!(
        unpacked.without_directory(&error.to_string()),
        format!("ROOT/{CPU}: expected at least one online CPU, found none")
    );
}

#[test]
fn a_machine_without_memory() {
    check(
        "proc/meminfo",
        "MemTotal: 0 kB\nMemFree: 0 kB\n",
        ": expected memory, found 0 bytes",
    );
}

#[test]
fn what_is_missing_of_cpus_and_nodes_is_said_in_one_line_each() {
    let listed = "machine: no usable list of online CPUs; all with a directory are, unless a \
                  file of their own says 0";
    check_gaps(without(&format!("{CPU}/online")), &[listed]);
    check_gaps(with(&format!("{CPU}/online"), "\n"), &[listed]);
    check_gaps(
        with(&format!("{CPU}/cpu8/online"), "0\n"),
        &["CPU 8: listed as online, but offline by a file of its own; taken as offline"],
    );
    check_gaps(
        with(&format!("{NODE}/online"), "0-2\n"),
        &["node 2: in the list of online nodes, but without a directory; left out"],
    );
    check_gaps(
        with(&format!("{NODE}/node2/meminfo"), "Node 2 MemTotal: 1 kB\n"),
        &["node 2: not in the list of online nodes, but with a directory; left out"],
    );
    check_gaps(
        without(&format!("{NODE}/node0/cpulist")),
        &["node 0: no cpulist or cpumap; taken to have all CPUs that no other node lists"],
    );
    check_gaps(
        with(&format!("{NODE}/node0/cpulist"), "0,2,4,8,10,12,99\n"),
        &["CPU 99: listed by a node, but not online; left out"],
    );
    check_gaps(
        with(&format!("{NODE}/node0/cpulist"), "0,2\n"),
        &["CPUs 4,8,10,12: online, but not listed by any node"],
    );
    let uncertain =
        "not one distance for each online node (2); those whose node is uncertain are unknown";
    for row in ["21\n", "21 10 10\n", "\n"] {
        check_gaps(
            with(&format!("{NODE}/node1/distance"), row),
            &[&format!("node 1: {uncertain}")],
        );
    }
    check_gaps(
        with(&format!("{NODE}/node1/distance"), ""),
        &["node 1: distances unknown (no distance file)"],
    );
}

#[test]
fn cpus_without_directories_are_known_from_the_nodes() {
    let topology = read(without(CPU)).unwrap();
    assert_eq!(topology.cpus.to_string(), "0-5,8-12");
    assert_eq!(
        topology.gaps,
        [
            "machine: no usable list of online CPUs; all that nodes list are",
            "CPUs 0-5,8-12: package unknown (no physical_package_id, package_cpus or \
             core_siblings)",
            "CPUs 0-5,8-12: core unknown (no core_cpus or thread_siblings); shown as a core of its \
             own",
        ]
    );
}

#[test]
fn what_is_missing_of_memory_and_devices_is_said_in_one_line_each() {
    check_gaps(
        without(&format!("{NODE}/node0/meminfo")),
        &["node 0: memory unknown (no meminfo)"],
    );
    check_gaps(
        with(&format!("{NODE}/node0/meminfo"), "Node 0 MemTotal: 12 kB\n"),
        &[
            "node 0: free memory unknown (no MemFree in meminfo)",
            "machine: 128 GiB of memory (MemTotal in /proc/meminfo), but its nodes have 64 GiB \
             together",
        ],
    );
    let pool = "hugepages/hugepages-2048kB/nr_hugepages";
    check_gaps(
        without(&format!("{NODE}/node0/{pool}")),
        &["node 0: a pool of huge pages left out (no nr_hugepages)"],
    );
    check_gaps(
        without(&format!("sys/kernel/mm/{pool}")),
        &["machine: huge pages of 2 MiB left out (no nr_hugepages)"],
    );
    check_gaps(
        without(&format!("{CPU}/cpu0/cache/index1/level")),
        &["CPU 0: a cache left out (no level or type)"],
    );
    check_gaps(
        without("sys/bus/pci/devices/0000:3b:00.0/class"),
        &["machine: 1 of the PCI devices left out (no class)"],
    );
}

#[test]
fn a_cpu_that_says_less_than_the_others_is_known_from_them() {
    let whole = read(|_| {}).unwrap();
    for file in [
        "topology/thread_siblings_list",
        "topology/core_id",
        "topology/physical_package_id",
        "cache/index3/shared_cpu_list",
        "cache/index3/size",
        "cache/index2/coherency_line_size",
    ] {
        let spoilt = read(|tree| {
            tree.remove(&format!("{CPU}/cpu0/{file}"));
        });
        assert_eq!(spoilt.unwrap(), whole, "{file}");
    }
}

#[test]
fn everything_else_may_be_missing() {
    let online = format!("{CPU}/online");
    let lists = [
        format!("{NODE}/node0/cpulist"),
        format!("{NODE}/node1/cpulist"),
    ];
    let topology = read(|tree| {
        let paths: Vec<String> = tree.paths().map(str::to_owned).collect();
        for path in paths
            .iter()
            .filter(|path| **path != online && !lists.contains(path))
        {
            tree.remove(path);
        }
    })
    .unwrap();
    assert_eq!(topology.nodes.len(), 2);
    assert_eq!(topology.nodes[0].memory_bytes, None);
    assert_eq!(topology.distances, None);
    assert_eq!(
        (topology.packages, topology.cores, topology.threads_per_core),
        (None, None, None)
    );
    assert_eq!(topology.core_list.len(), topology.cpus.len());
    assert_eq!(topology.devices, None);
    assert_eq!(topology.settings, model::KernelSettings::default());
}

#[test]
fn any_one_file_may_be_missing_or_empty_without_a_panic() {
    let tree = unusual_machines::offline_cpus().tree();
    let unpacked = tree.expand_in_memory().unwrap();
    let root = Root::at(unpacked.path()).unwrap();
    // One CPU stands for the others.
    let is_other_cpu = |path: &str| path.contains("/cpu/cpu") && !path.contains("/cpu0/");
    for path in tree.paths().filter(|path| !is_other_cpu(path)) {
        let file = unpacked.path().join(path);
        let content = fs::read(&file).unwrap();
        fs::write(&file, "").unwrap();
        let _ = topology::read(&root);
        fs::remove_file(&file).unwrap();
        let _ = topology::read(&root);
        fs::write(&file, content).unwrap();
    }
    assert!(topology::read(&root).is_ok());
}

#[test]
fn any_one_file_may_hold_anything_without_a_panic() {
    let tree = unusual_machines::offline_cpus().tree();
    let unpacked = tree.expand_in_memory().unwrap();
    let root = Root::at(unpacked.path()).unwrap();
    let paths: Vec<&str> = tree.paths().collect();
    let content = prop_oneof![
        any::<Vec<u8>>(),
        "(Node [0-9] )?[A-Za-z_]{0,15}:? *[0-9,:/-]{0,20}( kB)?\n?".prop_map(String::into_bytes),
        "[0-9]{0,10}([-,:/ ][0-9]{1,6}){0,4}\n".prop_map(String::into_bytes),
    ];
    let spoilt = (any::<prop::sample::Index>(), content);
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::with_cases(128)
    });
    runner
        .run(&spoilt, |(index, content)| {
            let file = unpacked.path().join(index.get(&paths));
            let original = fs::read(&file).unwrap();
            fs::write(&file, content).unwrap();
            let _ = topology::read(&root);
            fs::write(&file, original).unwrap();
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_kernel_that_shows_huge_pages_only_in_meminfo() {
    let topology = read(|tree| {
        tree.remove("sys/kernel/mm/hugepages");
        tree.remove(&format!("{NODE}/node0/hugepages"));
        tree.set(
            &format!("{NODE}/node0/meminfo"),
            "Node 0 MemTotal: 9 kB\nNode 0 MemFree: 3 kB\n\
             Node 0 HugePages_Total: 39303\nNode 0 HugePages_Free:  23589\n",
        );
    })
    .unwrap();
    let pool = &topology.nodes[0].huge_pages[0];
    assert_eq!(
        (pool.page_bytes, pool.total, pool.free),
        (2 << 20, 39303, Some(23589))
    );
}
