//! Any text is read, or left alone, and damage to a text that is known changes no figure of it.
//!
//! Tests of pasted.

use pasted::{Error, Text, read};
use proptest::prelude::*;

/// Pieces of what tools print, to be put together in any order.
const PIECES: [&str; 33] = [
    "available: 2 nodes (0-1)",
    "node 0 cpus: 0 1 2 3",
    "4 5 6 7",
    "node 0 size: 63678 MB node 0 free:",
    "node 0 free: 12 MB",
    "node 4294967295 free: 18446744073709551615 MB",
    "node distances:",
    "node   0   1",
    "0: 10 21 1: 21 10",
    "Node 0 HugePages_Total: 5",
    "Node 0 HugePages_Free: 9",
    "Node 1 MemFree: 77 kB",
    "node0 node1",
    "numa_hit 5 -6",
    "Node 0 Node 1 Total",
    "MemFree 1.5 nan inf",
    "NUMA node0 CPU(s): 0-3,",
    "On-line CPU(s) list: 0-7",
    "cat /proc/7/numa_maps",
    "grep x /proc/$(pgrep a b)/numa_maps",
    "7f0000000000 bind:0 anon=5 N0=5 kernelpagesize_kB=4",
    "Cpus_allowed_list:\t0-3",
    "numactl --membind=1 --cpunodebind=0 ./lat_mem_rd 20 256",
    "20.0 211.483",
    "==> /proc/../../etc/passwd <==",
    "==> sys/devices/system/node/node0/cpulist <==",
    "# /proc/meminfo",
    "#==[ Configuration File ]===#",
    "Machine (31GB total)",
    "  NUMANode L#0 (P#0 16GB)",
    "    L3 L#0 (20MB) + Core L#0 + PU L#0 (P#0)",
    "      PU L#1 (P#99999999999)",
    "Numa_Foreign 5.5 1e300",
];

fn text(content: String) -> Text {
    Text {
        name: "a.txt".to_owned(),
        content,
        path: None,
        is_of_bundle: false,
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_left_alone(content in "[\\PC\n]{0,400}") {
        let _ = read(&[text(content)]);
    }

    #[test]
    fn pieces_in_any_order_make_plain_paths_and_whole_moments(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40),
    ) {
        match read(&[text(pieces.join("\n"))]) {
            Err(Error::Nothing { .. } | Error::TwoMachines { .. }) => {}
            Ok(paste) => {
                for path in paste.files.keys() {
                    let of_kernel = path.starts_with("sys/") || path.starts_with("proc/");
                    prop_assert!(of_kernel && !path.contains(".."), "{path}");
                }
                let pools = paste.pools.iter().flat_map(|moment| moment.pages.values());
                for (all, free) in pools {
                    prop_assert!(free <= all);
                }
            }
        }
    }

    #[test]
    fn marks_around_lines_change_no_figure(
        before in prop::sample::select(&["", "> ", ">> ", "&gt; ", "\u{a0}\u{a0}", "<p>"][..]),
        after in prop::sample::select(&["", "\r", "  ", "</strong>", "\u{200b}"][..]),
    ) {
        let lines = [
            "available: 2 nodes (0-1)",
            "node 0 cpus: 0 1 2 3",
            "node 0 size: 32733 MB",
            "node 0 free: 29452 MB",
            "node 1 cpus: 4 5 6 7",
            "node distances:",
            "node   0   1",
            "  0:  10  21",
            "  1:  21  10",
        ];
        let plain = read(&[text(lines.join("\n"))]).unwrap();
        let damaged: Vec<String> = lines.iter().map(|it| format!("{before}{it}{after}")).collect();
        prop_assert_eq!(read(&[text(damaged.join("\n"))]).unwrap(), plain);
    }
}
