//! Machines whose kernel or capture omits something are shown with all that is known about them.
//!
//! Tests of topology.

use serde_json::Value;
use testing::tree::Unpacked;
use testing::variants::{with_leftovers, with_nul};
use testing::{Tree, incomplete_machines};

use crate::laboratory::Laboratory;

fn root_of(unpacked: &Unpacked) -> String {
    unpacked.path().to_str().unwrap().to_owned()
}

#[test]
fn every_incomplete_machine_is_shown_and_judged() {
    let laboratory = Laboratory::new();
    for (name, tree) in incomplete_machines::all() {
        let unpacked = tree.expand_in_memory().unwrap();
        let root = root_of(&unpacked);
        let picture = laboratory.file("machine.svg", "");
        let arguments = ["topology", "--root", &root, "--svg", &picture];
        let text = laboratory.run(&arguments).with_code(0).stdout;
        let document = laboratory.document(&["topology", "--root", &root, "--json"]);
        let gaps = document["gaps"].as_array().map_or(0, Vec::len);
        assert_eq!(
            text.contains("\nMissing or contradictory\n"),
            gaps > 0,
            "{name}"
        );
        laboratory.run(&["doctor", "--root", &root]).with_code(0);
    }
}

#[test]
fn what_is_unknown_is_unknown_in_text_and_null_in_json() {
    let laboratory = Laboratory::new();
    let machines = incomplete_machines::all();
    let look = |wanted: &str| {
        let (_, tree) = machines.iter().find(|(name, _)| *name == wanted).unwrap();
        let unpacked = tree.expand_in_memory().unwrap();
        let root = root_of(&unpacked);
        let text = laboratory.run(&["topology", "--root", &root]).with_code(0);
        let document = laboratory.document(&["topology", "--root", &root, "--json"]);
        (text.stdout, document)
    };
    let (text, document) = look("itanium");
    assert!(text.contains("L3       32 MiB  unknown  unknown"), "{text}");
    assert_eq!(document["caches"][2]["shared_by"], Value::Null);
    let (text, document) = look("nodes-without-cpu-lists");
    assert!(text.contains("unknown  unknown"), "{text}");
    assert_eq!(document["nodes"][0]["cpus"], Value::Null);
    let (text, document) = look("shorter-distances");
    assert!(text.contains("    2   -   -   -"), "{text}");
    assert_eq!(document["distances"][2][0], Value::Null);
    let (text, document) = look("memory-side-cache");
    assert!(text.contains("direct-mapped  write-back"), "{text}");
    assert_eq!(
        document["memory_side_caches"][0]["size_bytes"],
        16_u64 << 30
    );
}

/// Returns a machine with two nodes and a process that has 4 huge pages on one and 8 small ones on
/// the other.
fn with_process() -> Tree {
    let mut tree = Tree::captured("two-node").unwrap();
    let numa_maps = "7f0000000000 prefer:1 file=/SYSV00000000\\040(deleted) huge dirty=4 mapmax=2 \
                     N1=4 kernelpagesize_kB=2048\n\
                     7f1000000000 default anon=8 dirty=8 N0=8 kernelpagesize_kB=4\n";
    let status = "Name:\tora_pmon_X\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1\n";
    tree.set(
        "proc/7/stat",
        format!("7 (ora_pmon_X) S 1 1 1 0 -1 0 {}\n", "0 ".repeat(40)),
    )
    .set("proc/7/cmdline", "ora_pmon_X\0")
    .set("proc/7/status", status)
    .set("proc/7/numa_maps", numa_maps);
    tree
}

#[test]
fn a_nul_behind_the_text_of_files_changes_nothing_for_any_command() {
    let laboratory = Laboratory::new();
    let look = |tree: &Tree| {
        let unpacked = tree.expand_in_memory().unwrap();
        let root = root_of(&unpacked);
        [
            laboratory.document(&["topology", "--root", &root, "--json"]),
            laboratory.document(&["inspect", "oracle:X", "--root", &root, "--json"]),
            laboratory.document(&["doctor", "oracle:X", "--root", &root, "--json"]),
        ]
    };
    let original = look(&with_process());
    assert_eq!(original[1]["bytes_by_node"]["1"], 8 << 20);
    assert_eq!(look(&with_nul(&with_process())), original);
    assert_eq!(look(&with_leftovers(&with_process())), original);
}

#[test]
fn a_captured_process_without_stat_is_shown_with_what_its_other_files_say() {
    let laboratory = Laboratory::new();
    let with_stat = with_process().expand_in_memory().unwrap();
    let root = root_of(&with_stat);
    let expected = laboratory.document(&["inspect", "7", "--root", &root, "--json"]);
    // numa_maps alone is what people send.
    for missing in [
        &["stat"][..],
        &["stat", "status"],
        &["stat", "status", "cmdline"],
    ] {
        let mut tree = with_process();
        for file in missing {
            tree.remove(&format!("proc/7/{file}"));
        }
        let unpacked = tree.expand_in_memory().unwrap();
        let root = root_of(&unpacked);
        let targets: &[&str] = match missing.len() {
            3 => &["7"],
            _ => &["7", "oracle:X", "ora_pmon_X"],
        };
        for target in targets {
            let looked = laboratory.document(&["inspect", target, "--root", &root, "--json"]);
            assert_eq!(
                looked["bytes_by_node"], expected["bytes_by_node"],
                "{looked:#}"
            );
            let gaps = looked["gaps"].to_string();
            let lacks = "the capture lacks /proc/PID/stat of 1 of 1";
            assert_eq!(gaps.matches(lacks).count(), 1, "{missing:?}: {gaps}");
            assert!(!gaps.contains("ended"), "{missing:?}: {gaps}");
            let doctor = laboratory.run(&["doctor", target, "--root", &root]);
            let doctor = doctor.with_code(0).stdout;
            assert!(doctor.contains("incomplete-data"), "{doctor}");
            for wrong in ["sudo", "as root", "CAP_SYS_ADMIN"] {
                assert!(!doctor.contains(wrong), "{missing:?}: {wrong}: {doctor}");
            }
        }
    }
}

#[test]
fn a_kernel_without_numa_and_a_virtual_machine_are_no_matter_of_the_bios() {
    let laboratory = Laboratory::new();
    let mut tree = Tree::captured("two-node").unwrap();
    for path in tree.paths().map(str::to_owned).collect::<Vec<_>>() {
        if path.starts_with("sys/devices/system/node/") {
            tree.remove(&path);
        }
    }
    let unpacked = tree.expand_in_memory().unwrap();
    let doctor = laboratory.run(&["doctor", "--root", &root_of(&unpacked)]);
    let doctor = doctor.with_code(0).stdout;
    assert!(
        doctor.contains("this kernel has no NUMA support"),
        "{doctor}"
    );
    for wrong in ["firmware-interleaving", "BIOS", "firmware setup"] {
        assert!(!doctor.contains(wrong), "{wrong}: {doctor}");
    }
}

#[test]
fn a_folder_that_holds_no_machine_is_refused_with_the_way_out() {
    let laboratory = Laboratory::new();
    let mut tree = Tree::default();
    tree.set("proc/meminfo", "MemTotal: 1 kB\n");
    let unpacked = tree.expand().unwrap();
    let refused = laboratory.run(&["topology", "--root", &root_of(&unpacked)]);
    refused.with_code(3).says(&[
        "sys/devices/system/cpu: expected at least one online CPU, found none",
        "--root takes",
    ]);
    tree.set("sys/devices/system/cpu/online", "0\n");
    tree.set("proc/meminfo", "MemTotal: 0 kB\n");
    let unpacked = tree.expand().unwrap();
    let refused = laboratory.run(&["topology", "--root", &root_of(&unpacked)]);
    refused.with_code(3).says(&[
        "proc/meminfo: expected memory, found 0 bytes",
        "--root takes",
    ]);
}

#[test]
fn lines_of_numa_maps_that_cannot_be_are_not_counted_and_said() {
    let laboratory = Laboratory::new();
    let mut tree = with_process();
    // A node that the machine lacks, an address twice more, and pages without a size.
    tree.set(
        "proc/7/numa_maps",
        "7f1000000000 default anon=8 dirty=8 N0=8 N7=1000 kernelpagesize_kB=4\n\
         7f1000000000 default anon=8 dirty=8 N0=8 kernelpagesize_kB=4\n\
         7f1000000000 default anon=8 dirty=8 N0=8 kernelpagesize_kB=4\n\
         7f2000000000 default anon=9 dirty=9 N1=9 kernelpagesize_kB=0\n",
    );
    let unpacked = tree.expand_in_memory().unwrap();
    let root = root_of(&unpacked);
    let looked = laboratory.document(&["inspect", "oracle:X", "--root", &root, "--json"]);
    assert_eq!(
        looked["bytes_by_node"],
        serde_json::json!({"0": 32768}),
        "{looked:#}"
    );
    let gaps = looked["gaps"].to_string();
    for says in [
        "proc/7/numa_maps, line 1: this machine has no node 7",
        "line 2: 7f1000000000 was listed before",
        "line 3: 7f1000000000 was listed before",
        "line 4: pages of 0 bytes",
    ] {
        assert!(gaps.contains(says), "{says}: {gaps}");
    }
}

#[test]
fn contradicting_files_of_caches_and_packages_are_said() {
    let laboratory = Laboratory::new();
    let topology = |tree: &Tree| {
        let unpacked = tree.expand_in_memory().unwrap();
        laboratory.document(&["topology", "--root", &root_of(&unpacked), "--json"])
    };
    let cpu = "sys/devices/system/cpu/cpu0";
    let mut tree = Tree::captured("two-node").unwrap();
    let right = topology(&tree);
    tree.set(&format!("{cpu}/cache/index0/shared_cpu_list"), "3\n");
    tree.set(&format!("{cpu}/cache/index0/shared_cpu_map"), "1\n");
    let found = topology(&tree);
    assert_eq!(found["caches"], right["caches"]);
    let says = "CPU 0: shared_cpu_list of an L1 cache lacks the CPU itself; shared_cpu_map is used";
    assert!(
        found["gaps"].to_string().contains(says),
        "{:#}",
        found["gaps"]
    );

    let mut tree = Tree::captured("two-node").unwrap();
    for cpu in 0..4 {
        let place = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        tree.set(&format!("{place}/physical_package_id"), "0\n");
        for name in ["core_siblings_list", "package_cpus_list"] {
            tree.set(&format!("{place}/{name}"), format!("{cpu}\n"));
        }
    }
    let gaps = topology(&tree)["gaps"].to_string();
    let says = "CPUs 0-3: the CPUs of a package (package_cpus, core_siblings) are not those";
    assert!(gaps.contains(says), "{gaps}");
}

#[test]
fn the_caches_of_sparc64_are_read() {
    let laboratory = Laboratory::new();
    let mut tree = Tree::default();
    for (path, content) in [
        ("sys/devices/system/cpu/online", "0-1\n"),
        ("sys/devices/system/cpu/possible", "0-1\n"),
        ("proc/meminfo", "MemTotal: 1048576 kB\n"),
    ] {
        tree.set(path, content);
    }
    for cpu in 0..2 {
        for (name, value) in [
            ("l1_dcache_size", 16384),
            ("l1_dcache_line_size", 32),
            ("l1_icache_size", 16384),
            ("l1_icache_line_size", 32),
            ("l2_cache_size", 131_072),
            ("l2_cache_line_size", 64),
        ] {
            let path = format!("sys/devices/system/cpu/cpu{cpu}/{name}");
            tree.set(&path, format!("{value}\n"));
        }
    }
    let unpacked = tree.expand_in_memory().unwrap();
    let found = laboratory.document(&["topology", "--root", &root_of(&unpacked), "--json"]);
    let caches = found["caches"].as_array().unwrap();
    let sizes: Vec<_> = caches
        .iter()
        .map(|it| (&it["level"], &it["size_bytes"]))
        .collect();
    let expected = [(1, 16384), (1, 16384), (2, 131_072)].map(|(a, b)| (a.into(), b.into()));
    let expected: Vec<_> = expected.iter().map(|(a, b)| (a, b)).collect();
    assert_eq!(sizes, expected, "{found:#}");
    let gaps = found["gaps"].to_string();
    assert!(
        gaps.contains("CPUs 0-1: who shares L2 caches is unknown"),
        "{gaps}"
    );
}
