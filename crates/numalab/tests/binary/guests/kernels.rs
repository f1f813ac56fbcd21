//! Other kernels than Debian 12's: a guest that was asked to run one runs it, and it has or lacks
//! what its version says. What it can do works; what it cannot is refused with the version that
//! can, with nothing left behind.
//!
//! Tests of relocation, linux.

use std::fs;

use super::holder::Holder;
use super::kernel_setting::nodes;
use crate::laboratory::Laboratory;
use crate::unmet_need::is_guest;

/// Returns the kernel's version: `6.12.95+deb12-amd64` is version 6.12.
fn version() -> (u32, u32) {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(|byte: char| !byte.is_ascii_digit());
    let mut number = || numbers.next().unwrap().parse().unwrap();
    (number(), number())
}

/// The kernel of the backports has what 6.1 lacks, and shows the shape that was asked for.
#[test]
fn the_newer_kernel_has_weights_and_the_shape() {
    if !is_guest("the_newer_kernel_has_weights_and_the_shape", "two-node") {
        return;
    }
    assert!(version() >= (6, 9), "{:?}", version());
    let read = |file| fs::read_to_string(file).unwrap();
    let distances: Vec<_> = nodes("distance").into_iter().map(read).collect();
    assert_eq!(distances, ["10 21\n", "21 10\n"]);
    let weights = fs::read_dir("/sys/kernel/mm/mempolicy/weighted_interleave").unwrap();
    let names = weights.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let weights = names.filter(|name| name.starts_with("node")).count();
    assert_eq!(weights, 2);
    let topology = Laboratory::new().document(&["topology", "--json"]);
    assert_eq!(
        topology["nodes"].as_array().unwrap().len(),
        2,
        "{topology:#}"
    );
}

/// Balancing needs a flag of Linux 5.12 that mbind of later kernels takes.
#[test]
fn the_older_kernel_refuses_to_balance() {
    if !is_guest("the_older_kernel_refuses_to_balance", "two-node") {
        return;
    }
    assert_eq!(version(), (5, 10), "the kernel of Debian 11");
    let laboratory = Laboratory::new();
    let holder = Holder::start(&[], 32, 1, "memfd");
    let refused = laboratory.run(&["balance", &holder.pid(), "--for", "5s"]);
    refused.with_code(3).says(&["Linux 5.12"]);
    let placed = holder.placed("memfd");
    assert!(placed.starts_with("default "), "{placed}");
    drop(holder);
    laboratory.nothing_is_left();
}
