//! Captured machines whose kernels have other sizes of pages than x86-64 are shown and judged by
//! the sizes that they have.
//!
//! Tests of topology, residency, judgement.

use testing::{Tree, arm_machines};

use crate::laboratory::Laboratory;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Returns a machine with a database: segments in huge pages, and private memory in base pages of
/// which the line of one mapping does not say the size, as in kernels before 3.10.
fn with_database(machine: &str, huge_kib: [u64; 2], base_kib: u64) -> Tree {
    let mut machines = arm_machines::all().into_iter();
    let (_, machine) = machines.find(|(name, _)| *name == machine).unwrap();
    let mut tree = machine.tree();
    let [first, second] = huge_kib;
    let numa_maps = format!(
        "7e0000000000 bind:0 file=/SYSV00000001\\040(deleted) huge dirty=3 N0=3 \
         kernelpagesize_kB={first}\n\
         7f0000000000 default file=/SYSV00000002\\040(deleted) huge dirty=4 N1=4 \
         kernelpagesize_kB={second}\n\
         7f1000000000 default anon=8 dirty=8 N0=8 kernelpagesize_kB={base_kib}\n\
         7f2000000000 default anon=2 dirty=2 N1=2\n"
    );
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

fn check(machine: &str, huge_kib: [u64; 2], base_bytes: u64) -> [String; 2] {
    let laboratory = Laboratory::new();
    let tree = with_database(machine, huge_kib, base_bytes / KIB);
    let unpacked = tree.expand_in_memory().unwrap();
    let root = unpacked.path().to_str().unwrap();
    let topology = laboratory.document(&["topology", "--root", root, "--json"]);
    assert_eq!(topology["page_bytes"], base_bytes);
    let found = laboratory.document(&["inspect", "oracle:X", "--root", root, "--json"]);
    let mut sizes: Vec<u64> = found["segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|segment| segment["page_bytes"].as_u64().unwrap())
        .collect();
    sizes.sort_unstable();
    assert_eq!(sizes, huge_kib.map(|kib| kib * KIB));
    let [first, second] = huge_kib.map(|kib| kib * KIB);
    assert_eq!(found["bytes_by_node"]["0"], 3 * first + 8 * base_bytes);
    assert_eq!(found["bytes_by_node"]["1"], 4 * second + 2 * base_bytes);
    let text = |command: &[&str]| {
        let words = [command, &["--root", root]].concat();
        laboratory.run(&words).with_code(0).stdout
    };
    [text(&["topology"]), text(&["doctor", "oracle:X", "--full"])]
}

#[test]
fn a_kernel_with_base_pages_of_64_kib_has_huge_pages_of_512_mib_and_16_gib() {
    let [topology, doctor] = check(
        "arm64-pages-of-64-kib",
        [512 * MIB / KIB, 16 * GIB / KIB],
        64 * KIB,
    );
    for expected in [
        "128 GiB in 2 nodes, in pages of 64 KiB",
        "512 MiB",
        "16 GiB",
    ] {
        assert!(topology.contains(expected), "{expected}: {topology}");
    }
    // Whatever it proposes names pools that this kernel has.
    assert!(!doctor.contains("hugepages-2048kB"), "{doctor}");
}

#[test]
fn a_kernel_with_base_pages_of_4_kib_has_huge_pages_of_64_kib_and_32_mib() {
    let [topology, _] = check("arm64-pages-of-4-kib", [64, 32 * MIB / KIB], 4 * KIB);
    for expected in ["64 KiB", "2 MiB", "32 MiB", "1 GiB"] {
        assert!(topology.contains(expected), "{expected}: {topology}");
    }
    assert!(!topology.contains("in pages of"), "{topology}");
}
