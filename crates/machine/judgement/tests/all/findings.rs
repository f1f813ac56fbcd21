//! What captured machines are found to have.

use judgement::doctor::DoctorInput;
use judgement::findings::of_doctor;
use linux::Root;
use residency::{Options, inspect};

/// What is found on a captured machine, whose files may be changed before.
fn ids(name: &str, changes: &[(&str, &str)]) -> Vec<String> {
    let mut tree = testing::Tree::captured(name).unwrap();
    for (path, content) in changes {
        tree.set(path, *content);
    }
    let unpacked = tree.expand().unwrap();
    let root = Root::at(unpacked.path()).unwrap();
    let topology = topology::read(&root).unwrap();
    let found = of_doctor(&DoctorInput::read(&root, topology, None).unwrap());
    found.into_iter().map(|finding| finding.id).collect()
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

/// A server with 128 MiB of shared memory on two nodes: what the kernel says of it, by its CPUs,
/// its memory nodes, and the line of its segment.
fn server(cpus: &str, memory_nodes: &str, segment: &str) -> Vec<(&'static str, String)> {
    let zeros = "0 ".repeat(40);
    let lists = format!("Cpus_allowed_list:\t{cpus}\nMems_allowed_list:\t{memory_nodes}\n");
    let numa_maps = format!(
        "400000 default file=/opt/db/bin/redis-server mapped=4096 N1=4096 kernelpagesize_kB=4\n\
         7f0000000000 {segment} kernelpagesize_kB=4\n"
    );
    let maps = "400000-1400000 r-xp 00000000 fe:00 77    /opt/db/bin/redis-server\n\
                7f0000000000-7f0008000000 rw-s 00000000 00:1a 5    /dev/shm/cache\n";
    vec![
        (
            "proc/7/stat",
            format!("7 (redis-server) S 1 1 1 0 -1 0 {zeros}"),
        ),
        ("proc/7/cmdline", "/opt/db/bin/redis-server\0".to_owned()),
        ("proc/7/status", format!("Name:\tredis-server\n{lists}")),
        ("proc/7/numa_maps", numa_maps),
        ("proc/7/maps", maps.to_owned()),
    ]
}

/// The pools of huge pages of two nodes, as (total, free).
fn pools(nodes: [(u32, u32); 2]) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut pool = |directory: &str, (total, free): (u32, u32)| {
        let directory = format!("{directory}/hugepages/hugepages-2048kB");
        files.push((format!("{directory}/nr_hugepages"), format!("{total}\n")));
        files.push((format!("{directory}/free_hugepages"), format!("{free}\n")));
    };
    for (node, pages) in nodes.iter().enumerate() {
        pool(&format!("sys/devices/system/node/node{node}"), *pages);
    }
    let sum = (nodes[0].0 + nodes[1].0, nodes[0].1 + nodes[1].1);
    pool("sys/kernel/mm", sum);
    files
}

/// What is found on a captured machine with these files and this server.
fn ids_with<P: AsRef<str>, C: AsRef<str>>(
    name: &str,
    files: &[(P, C)],
    server: &Server,
) -> Vec<String> {
    let mut tree = testing::Tree::captured(name).unwrap();
    let (cpus, memory_nodes, segment) = *server;
    for (path, content) in self::server(cpus, memory_nodes, segment) {
        tree.set(path, content);
    }
    for (path, content) in files {
        tree.set(path.as_ref(), content.as_ref());
    }
    let unpacked = tree.expand().unwrap();
    let root = Root::at(unpacked.path()).unwrap();
    let topology = topology::read(&root).unwrap();
    let target = "redis-server".parse().unwrap();
    let residency = inspect(&root, &target, &topology, &Options::default()).unwrap();
    let input = DoctorInput::read(&root, topology, Some(residency)).unwrap();
    let found = of_doctor(&input).into_iter();
    found.map(|finding| finding.id).collect()
}

/// CPUs, memory nodes, and the segment as numa_maps has it.
type Server = (&'static str, &'static str, &'static str);

/// A server that is placed well: on both nodes, interleaved.
const WELL: Server = (
    "0-3",
    "0-1",
    "interleave:0-1 file=/dev/shm/cache dirty=32768 N0=16384 N1=16384",
);

/// Two machines that differ in one thing: the first has the finding, the second has not.
fn check(id: &str, name: &str, ill: (&[(&str, &str)], Server), well: (&[(&str, &str)], Server)) {
    let has = |(files, server): (&[(&str, &str)], Server)| {
        ids_with(name, files, &server).iter().any(|it| it == id)
    };
    assert!(has(ill), "{id} on {name}");
    assert!(!has(well), "no {id} on {name}");
}

#[test]
fn what_is_wrong_with_the_memory_of_a_server_is_found_on_a_captured_machine() {
    let default = |nodes| (("0-3", "0-1", nodes), WELL);
    let on_node_0 = "default file=/dev/shm/cache dirty=32768 N0=32768";
    let skewed = "interleave:0-1 file=/dev/shm/cache dirty=32768 N0=24576 N1=8192";
    let even = "default file=/dev/shm/cache dirty=32768 N0=16384 N1=16384";
    for (id, segment) in [
        ("cyclops", on_node_0),
        ("memory-skew", skewed),
        ("sga-without-policy", even),
    ] {
        let (ill, well) = default(segment);
        check(id, "two-node", (&[], ill), (&[], well));
    }
    let (_, _, interleaved) = WELL;
    check(
        "masks-disagree",
        "two-node",
        (&[], ("0-1", "1", on_node_0)),
        (&[], WELL),
    );
    let private = |node: u32| format!("7f1000000000 default anon=30000 N{node}=30000\n");
    let (far, near) = (private(1), private(0));
    let pinned = ("0-1", "0-1", interleaved);
    check(
        "memory-far",
        "two-node",
        (&[("proc/7/numa_maps", &far)], pinned),
        (&[("proc/7/numa_maps", &near)], pinned),
    );
    let beyond = ("0-3", "0", interleaved);
    check(
        "cpuset-narrower-than-policy",
        "two-node",
        (&[], beyond),
        (&[], WELL),
    );
    check(
        "far-program-text",
        "two-node",
        (&[], ("0-1", "0-1", interleaved)),
        (&[], WELL),
    );
    let expander = (
        "0-3",
        "0-2",
        "bind:2 file=/dev/shm/cache dirty=32768 N2=32768",
    );
    check(
        "memory-only-node-used",
        "memory-only-node",
        (&[], expander),
        (&[], WELL),
    );
}

#[test]
fn what_is_wrong_with_a_captured_machine_is_found() {
    let file = |id: &str, name: &str, path: &str, content: &str| {
        check(id, name, (&[(path, content)], WELL), (&[], WELL));
    };
    file(
        "numa-off",
        "one-node",
        "proc/cmdline",
        "root=/dev/vda numa=off\n",
    );
    let package = "sys/devices/system/cpu/cpu3/topology/physical_package_id";
    file("firmware-interleaving", "one-node", package, "1\n");
    let meminfo = "Node 1 MemTotal: 1031340 kB\nNode 1 MemFree: 9416 kB\n";
    file(
        "node-nearly-full",
        "two-node",
        "sys/devices/system/node/node1/meminfo",
        meminfo,
    );
    file(
        "zone-reclaim",
        "two-node",
        "proc/sys/vm/zone_reclaim_mode",
        "1\n",
    );
    let numastat = "numa_hit 1000000\nnuma_miss 0\nnuma_foreign 90000\n";
    file(
        "allocations-elsewhere",
        "two-node",
        "sys/devices/system/node/node1/numastat",
        numastat,
    );
    let distance = "sys/devices/system/node/node1/distance";
    file("distances-asymmetric", "two-node", distance, "22 10\n");
    file("distances-impossible", "two-node", distance, "255 10\n");
    let disk = "sys/bus/pci/devices/0000:00:1f.2/numa_node";
    file("devices-on-one-node", "two-node", disk, "1\n");
    let further = "sys/devices/system/node/node3/distance";
    let ring: (&[_], _) = (&[], WELL);
    check(
        "distances-flat",
        "four-node-ring",
        ring,
        (&[(further, "31 21 21 10\n")], WELL),
    );
    // The guests were captured with transparent huge pages on.
    let thp = "sys/kernel/mm/transparent_hugepage/enabled";
    let madvise: (&[_], _) = (&[(thp, "always [madvise] never\n")], WELL);
    check("transparent-huge-pages", "two-node", ring, madvise);
    let balancing = "proc/sys/kernel/numa_balancing";
    let on: (&[_], _) = (&[(balancing, "1\n")], WELL);
    check(
        "numa-balancing",
        "two-node",
        on,
        (&[(balancing, "0\n")], WELL),
    );
}

#[test]
fn pools_of_huge_pages_of_a_captured_machine_are_judged() {
    let check = |id: &str, ill: [(u32, u32); 2], well: [(u32, u32); 2], memory_nodes| {
        let server = (
            "0-1",
            memory_nodes,
            "bind:0 file=/dev/shm/cache dirty=32768 N0=32768",
        );
        let has = |nodes| {
            ids_with("two-node", &pools(nodes), &server)
                .iter()
                .any(|it| it == id)
        };
        assert!(has(ill), "{id}");
        assert!(!has(well), "no {id}");
    };
    check(
        "huge-pages-unused",
        [(50, 50), (50, 50)],
        [(50, 10), (50, 10)],
        "0-1",
    );
    check(
        "huge-pages-uneven",
        [(100, 0), (20, 0)],
        [(60, 0), (60, 0)],
        "0-1",
    );
    let (elsewhere, here) = ([(10, 0), (100, 90)], [(100, 90), (100, 90)]);
    check("huge-pages-short-on-bound-node", elsewhere, here, "0");
}
