//! The topology of every captured and described machine, as JSON, against golden files that the
//! tests of crate report start from.

use linux::Root;
use model::{Cache, CpuId, CpuSet, NodeId, Topology};
use testing::tree::Unpacked;
use testing::{
    arm_machines, article_machines, golden, incomplete_machines, tree, unusual_machines,
};

fn topology_of(unpacked: &Unpacked) -> Topology {
    let root = Root::at(unpacked.path()).unwrap();
    topology::read(&root).unwrap()
}

fn check(name: &str, unpacked: &Unpacked) -> Topology {
    let topology = topology_of(unpacked);
    // Large machines on one line: nobody reads 1000 cores, and the texts made from them are read.
    let json = if topology.core_list.len() > 128 {
        serde_json::to_string(&topology).unwrap()
    } else {
        serde_json::to_string_pretty(&topology).unwrap()
    };
    golden::check(&format!("topology/{name}.json"), &(json + "\n"));
    topology
}

#[test]
fn article_000_has_eight_nodes_in_two_halves() {
    let topology = check(
        "article-000",
        &article_machines::eight_nodes()
            .tree()
            .expand_in_memory()
            .unwrap(),
    );
    assert_eq!(topology.cpus.to_string(), "0-159");
    assert_eq!(
        (topology.packages, topology.cores, topology.threads_per_core),
        (Some(8), Some(80), Some(2))
    );
    assert_eq!(topology.node_of_cpu(CpuId(0)), Some(NodeId(4)));
    assert_eq!(topology.distance(NodeId(0), NodeId(7)), Some(22));
    assert_eq!(topology.nodes[0].memory_bytes, Some(132_864 << 20));
    assert_eq!(topology.nodes[0].huge_pages[0].free, Some(23589));
    assert_eq!(topology.huge_pages[0].total, 8 * 39302 + 1);
    assert_eq!(
        topology
            .caches
            .last()
            .unwrap()
            .shared_by
            .as_ref()
            .unwrap()
            .len(),
        8
    );
}

#[test]
fn article_002_has_four_nodes_all_at_21() {
    let topology = check(
        "article-002",
        &article_machines::four_nodes()
            .tree()
            .expand_in_memory()
            .unwrap(),
    );
    assert_eq!(topology.cores, Some(32));
    assert_eq!(topology.distance(NodeId(0), NodeId(3)), Some(21));
}

#[test]
fn article_003_has_thirty_two_nodes_and_unknown_distances() {
    let machine = article_machines::thirty_two_nodes();
    let topology = check("article-003", &machine.tree().expand_in_memory().unwrap());
    assert_eq!(
        (topology.packages, topology.cores, topology.cpus.len()),
        (Some(32), Some(576), 1152)
    );
    assert_eq!(topology.nodes[25].cpus.to_string(), "450-467,1026-1043");
    assert_eq!(topology.distances, None);
    assert_eq!(topology.nodes[0].memory_bytes, None);
}

#[test]
fn article_004_has_two_nodes() {
    let topology = check(
        "article-004",
        &article_machines::two_nodes()
            .tree()
            .expand_in_memory()
            .unwrap(),
    );
    assert_eq!(topology.nodes[1].free_bytes, Some(3956 << 20));
}

#[test]
fn unusual_machines_are_read() {
    for (name, machine) in unusual_machines::all()
        .into_iter()
        .chain(arm_machines::all())
    {
        check(name, &machine.tree().expand_in_memory().unwrap());
    }
}

#[test]
fn kernels_of_arm_have_pages_of_other_sizes() {
    let of = |wanted: &str| {
        let mut machines = arm_machines::all().into_iter();
        let (_, machine) = machines.find(|(name, _)| *name == wanted).unwrap();
        let topology = topology_of(&machine.tree().expand_in_memory().unwrap());
        let pools = topology.huge_pages.iter();
        let sizes = pools.map(|pool| (pool.page_bytes, pool.is_default == Some(true)));
        (topology.page_bytes, sizes.collect::<Vec<_>>())
    };
    let (kib, mib, gib) = (1 << 10, 1 << 20, 1_u64 << 30);
    assert_eq!(
        of("arm64-pages-of-4-kib"),
        (
            Some(4 * kib),
            vec![
                (64 * kib, false),
                (2 * mib, true),
                (32 * mib, false),
                (gib, false)
            ]
        )
    );
    assert_eq!(
        of("arm64-pages-of-64-kib"),
        (
            Some(64 * kib),
            vec![(2 * mib, false), (512 * mib, true), (16 * gib, false)]
        )
    );
}

#[test]
fn incomplete_machines_are_read() {
    for (name, tree) in incomplete_machines::all() {
        check(
            &format!("incomplete-{name}"),
            &tree.expand_in_memory().unwrap(),
        );
    }
}

/// What the golden files must say, so that they cannot hide a misreading.
#[test]
fn incomplete_machines_are_what_their_files_leave_certain() {
    let machines = incomplete_machines::all();
    let of = |name: &str| {
        let (_, tree) = machines.iter().find(|(other, _)| *other == name).unwrap();
        topology_of(&tree.expand_in_memory().unwrap())
    };
    let seats = |topology: &Topology| {
        let Topology {
            packages,
            cores,
            threads_per_core,
            ..
        } = topology;
        (*packages, *cores, *threads_per_core)
    };
    let old = of("linux-2.6.18");
    assert_eq!(seats(&old), (Some(4), Some(8), Some(1)));
    assert_eq!(old.cpus.to_string(), "0-7");
    assert_eq!(old.nodes[3].cpus.to_string(), "6-7");
    assert_eq!(old.nodes[3].huge_pages[0].total, 256);
    assert_eq!(old.distance(NodeId(0), NodeId(3)), Some(20));
    let power = of("power");
    assert_eq!(seats(&power), (Some(2), Some(4), Some(4)));
    assert_eq!(power.cpus.to_string(), "0-3,8-11,16-19,24-27");
    assert_eq!(power.nodes[0].cpus.to_string(), "0-3,8-11");
    let itanium = of("itanium");
    assert_eq!(itanium.caches.last().unwrap().shared_by, None);
    assert_eq!(itanium.caches[0].shared_by.as_ref().unwrap().len(), 4);
    assert_eq!(seats(&of("sparc")), (None, None, None));
    assert_eq!(seats(&of("riscv")), (None, Some(4), Some(1)));
    assert_eq!(seats(&of("arm64")), (Some(2), Some(4), Some(2)));
    let sharers: Vec<_> = of("caches-without-sharers")
        .caches
        .iter()
        .map(shown)
        .collect();
    assert_eq!(sharers, ["unknown", "unknown", "0-3 4-7"]);
    let memory = of("memory-total-only");
    assert_eq!(memory.nodes[0].memory_bytes, Some(64 << 30));
    assert_eq!(
        (memory.nodes[0].free_bytes, memory.nodes[1].memory_bytes),
        (None, None)
    );
    let container = of("container-view");
    assert_eq!(container.nodes[1].cpus.to_string(), "88-103");
    assert_eq!(of("cpus-in-two-nodes").nodes[0].cpus.to_string(), "0-1,3-4");
    assert_eq!(seats(&of("dies-only")), (None, Some(4), Some(2)));
    assert!(
        of("nodes-without-cpu-lists")
            .nodes
            .iter()
            .all(|node| node.has_unknown_cpus)
    );
    let side = &of("memory-side-cache").memory_side_caches[1];
    assert_eq!((side.node, side.size_bytes), (NodeId(1), Some(16 << 30)));
}

fn shown(cache: &Cache) -> String {
    let known = |caches: &Vec<CpuSet>| {
        let lists: Vec<String> = caches.iter().map(CpuSet::to_string).collect();
        lists.join(" ")
    };
    cache.shared_by.as_ref().map_or("unknown".to_owned(), known)
}

#[test]
fn rows_of_another_length_are_read_as_far_as_they_are_certain() {
    let row = |name: &str, row: usize| {
        let (_, tree) = incomplete_machines::all()
            .into_iter()
            .find(|(other, _)| *other == name)
            .unwrap();
        topology_of(&tree.expand_in_memory().unwrap())
            .distances
            .unwrap()[row]
            .clone()
    };
    assert_eq!(row("longer-distances", 0), [Some(10), Some(20), None]);
    assert_eq!(row("longer-distances", 1), [Some(20), Some(10), None]);
    assert_eq!(row("longer-distances", 2), [None, None, Some(10)]);
    assert_eq!(row("shorter-distances", 1), [Some(20), Some(10), None]);
    assert_eq!(row("shorter-distances", 2), [None; 3]);
}

#[test]
fn a_machine_without_nodes_is_one_node_that_holds_everything() {
    let machine = unusual_machines::no_node_directory();
    let topology = topology_of(&machine.tree().expand_in_memory().unwrap());
    assert!(topology.node_is_implied);
    assert_eq!(topology.nodes.len(), 1);
    assert_eq!(topology.nodes[0].cpus.to_string(), "0-3");
    assert_eq!(topology.nodes[0].memory_bytes, Some(8 << 30));
    assert_eq!(topology.nodes[0].huge_pages[0].free, Some(5));
    assert_eq!(topology.distances, None);
    assert_eq!(topology.settings.numa_off, Some(true));
}

#[test]
fn cpus_that_are_off_are_in_no_node_and_no_core() {
    let topology = topology_of(
        &unusual_machines::offline_cpus()
            .tree()
            .expand_in_memory()
            .unwrap(),
    );
    assert_eq!(topology.cpus.to_string(), "0-5,8-12");
    assert_eq!(topology.offline_cpus.to_string(), "6-7,13-15");
    assert_eq!(
        (topology.cores, topology.threads_per_core),
        (Some(6), Some(2))
    );
    assert!(topology.core_of_cpu(CpuId(6)).is_none());
}

#[test]
fn captured_machines_are_read() {
    for name in tree::names().unwrap() {
        let topology = check(&format!("captured-{name}"), &tree::expand(&name).unwrap());
        assert!(
            !topology.nodes.is_empty() && !topology.cpus.is_empty(),
            "{name}"
        );
    }
}

#[test]
fn the_ratings_of_the_firmware_are_read() {
    let topology = topology_of(&tree::expand("memory-only-node").unwrap());
    let rating = &topology.memory_ratings[2];
    assert_eq!(
        (rating.node, rating.from.to_string().as_str()),
        (NodeId(2), "0")
    );
    assert_eq!(rating.read_latency_ns, Some(240));
    assert_eq!(rating.read_bytes_per_s, Some(4266 << 20));
    let unrated = topology_of(&tree::expand("two-node").unwrap());
    assert!(unrated.memory_ratings.is_empty());
}

/// What a guest's shape promises, so that a golden file cannot hide a misreading.
#[test]
fn captured_guests_are_what_their_shape_says() {
    let check = |name: &str, nodes: &str, cpus: &str, row: &[u32]| {
        let topology = topology_of(&tree::expand(name).unwrap());
        assert_eq!(topology.node_ids().to_string(), nodes, "{name}");
        assert_eq!(topology.cpus.to_string(), cpus, "{name}");
        let known: Option<Vec<u32>> = topology.distances.unwrap()[0].iter().copied().collect();
        assert_eq!(known.unwrap(), row, "{name}");
    };
    check("one-node", "0", "0-3", &[10]);
    check("two-node", "0-1", "0-3", &[10, 21]);
    check("four-node-ring", "0-3", "0-7", &[10, 21, 21, 21]);
    check(
        "eight-node",
        "0-7",
        "0-15",
        &[10, 13, 12, 12, 22, 22, 22, 22],
    );
    check("memory-only-node", "0-2", "0-3", &[10, 21, 24]);
    check("cpu-only-node", "0-1", "0-3", &[10, 21]);
    check("sparse", "0,2,5", "0,2-5", &[10, 22, 25]);
    let enclosures: Vec<u32> = (0..32)
        .map(|to| [10, 16, 16, 16].get(to).copied().unwrap_or(28))
        .collect();
    check("thirty-two-node", "0-31", "0-31", &enclosures);
}
