//! The firmware's distances are replaced by measured ones: numalab makes the table in one guest,
//! and in guests that boot with it the kernel, numactl and numalab say the measured distances. The
//! latencies are those of article 002, and some that make the table asymmetric.
//! `xtask/src/whole_test/guests.rs` boots these guests.
//!
//! Tests of firmware.

use serde_json::json;

use crate::laboratory::Laboratory;
use crate::unmet_need::is_guest;

/// Latencies in ns, from each node (row) to each node.
const LATENCIES: &str = "53 211 217 248\n215 53 248 213\n217 248 53 212\n300 212 216 53\n";
/// Ten times the ratio to the local latency, after the hop classes of each row: 211 and 217 ns are
/// one class, whose middle is 214 ns.
const DISTANCES: [[u32; 4]; 4] = [
    [10, 40, 40, 47],
    [40, 10, 47, 40],
    [40, 47, 10, 40],
    [57, 40, 40, 10],
];
/// The variable with the path at which the archive is wanted for the other guests.
const ARCHIVE: &str = "NUMALAB_EARLY_INITRD";

/// Asserts that the kernel has these distances.
#[track_caller]
fn kernel_has(laboratory: &Laboratory, distances: [[u32; 4]; 4]) {
    let shown = laboratory.script("cat /sys/devices/system/node/node*/distance");
    let rows = distances.map(|row| row.map(|it| it.to_string()).join(" ") + "\n");
    assert_eq!(shown.with_code(0).stdout, rows.concat());
}

/// Asserts that a line has these words.
#[track_caller]
fn has_line(text: &str, words: &str) {
    let has = |line: &str| line.split_whitespace().eq(words.split(' '));
    assert!(text.lines().any(has), "no line {words:?} in\n{text}");
}

#[test]
fn a_table_is_made_of_measured_latencies() {
    if !is_guest("a_table_is_made_of_measured_latencies", "four-node-ring") {
        return;
    }
    let laboratory = Laboratory::new();
    let of_firmware =
        [0, 1, 2, 3].map(|from| [0, 1, 2, 3].map(|to| if from == to { 10 } else { 21 }));
    kernel_has(&laboratory, of_firmware);
    let latencies = laboratory.file("latencies.txt", LATENCIES);
    let archive = std::env::var(ARCHIVE).unwrap_or_else(|_| "early.cpio".to_owned());
    let words = ["firmware", "--from", &latencies, "--early-initrd", &archive];
    let made = laboratory.run(&words).with_code(0);
    has_line(&made.stdout, "3 57 40 40 10");
    has_line(&made.stdout, "3 21 21 21 10");
}

#[test]
fn a_guest_with_the_table_has_the_measured_distances() {
    if !is_guest(
        "a_guest_with_the_table_has_the_measured_distances",
        "firmware-table",
    ) {
        return;
    }
    let laboratory = Laboratory::new();
    kernel_has(&laboratory, DISTANCES);
    let shown = laboratory.script("numactl --hardware").with_code(0);
    for (node, row) in DISTANCES.iter().enumerate() {
        let row = row.map(|it| it.to_string()).join(" ");
        has_line(&shown.stdout, &format!("{node}: {row}"));
    }
    let document = laboratory.document(&["topology", "--json"]);
    assert_eq!(document["distances"], json!(DISTANCES));
}
