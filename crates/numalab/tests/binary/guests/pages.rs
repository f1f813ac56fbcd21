//! `numalab pages` on four nodes: pools by node are set, reported with the number reached if they
//! fall short, and restored; the needs of an SGA are computed; the policy of a tmpfs is shown, set
//! and restored, and files created since lie where it says.
//!
//! Tests of placement, journal.

use std::fs;
use std::process::{Command, Stdio};

use super::holder::Holder;
use super::kernel_setting::{KernelSettings, nodes, numbers};
use crate::laboratory::Laboratory;
use crate::unmet_need::is_guest;

const POOL: &str = "hugepages/hugepages-2048kB/nr_hugepages";

#[test]
fn pools_are_set_by_node_and_restored() {
    if !is_guest("pools_are_set_by_node_and_restored", "four-node-ring") {
        return;
    }
    let laboratory = Laboratory::new();
    let _pools = KernelSettings::huge_pages(0);
    let needs = ["pages", "--for", "64M", "--placement", "interleave=0-1"];
    let needs = laboratory.run(&needs).with_code(0).stdout;
    assert!(needs.contains(" --set 0=16,1=16"), "{needs}");
    laboratory.run(&["pages", "--set", "0=4,3=2"]).with_code(0);
    assert_eq!(numbers(POOL), [4, 0, 0, 2]);
    laboratory.run(&["undo"]).with_code(0);
    assert_eq!(numbers(POOL), [0; 4]);
    laboratory.nothing_is_left();
}

#[test]
fn a_pool_that_falls_short_is_reported_with_what_was_reached() {
    let test = "a_pool_that_falls_short_is_reported_with_what_was_reached";
    if !is_guest(test, "four-node-ring") {
        return;
    }
    let laboratory = Laboratory::new();
    let _pools = KernelSettings::huge_pages(0);
    let meminfo = fs::read_to_string(&nodes("meminfo")[2]).unwrap();
    let total = meminfo
        .lines()
        .find_map(|line| line.split_once(" MemTotal:"));
    let kib = total.unwrap().1.trim().strip_suffix(" kB").unwrap();
    // One less than all of its memory, of which the kernel has some itself.
    let all = kib.parse::<u64>().unwrap() / 2048 - 1;
    // The kernel would reclaim the page cache page by page, which takes minutes.
    laboratory
        .script("sync; echo 3 >/proc/sys/vm/drop_caches")
        .with_code(0);
    let short = laboratory
        .run(&["pages", "--set", &format!("2={all}")])
        .with_code(3);
    let reached = numbers(POOL);
    assert!(reached[2] > 0 && reached[2] < all, "{reached:?} of {all}");
    assert_eq!([reached[0], reached[1], reached[3]], [0; 3]);
    let said = format!("{} of {all}", reached[2]);
    let is_said = |line: &str| line.contains("node 2: ") && line.contains(&said);
    let mut lines = short.stdout.lines().chain(short.stderr.lines());
    assert!(lines.any(is_said), "no {said:?} in {short:?}");
    laboratory.run(&["undo"]).with_code(0);
    assert_eq!(numbers(POOL), [0; 4]);
    laboratory.nothing_is_left();
}

#[test]
fn files_of_a_tmpfs_lie_where_its_new_policy_says() {
    let test = "files_of_a_tmpfs_lie_where_its_new_policy_says";
    if !is_guest(test, "four-node-ring") {
        return;
    }
    let laboratory = Laboratory::new();
    let mounted = Mounted::new(&laboratory);
    let folder = mounted.0.as_str();
    let pages = |more: &[&str]| laboratory.run(&[&["pages", "--tmpfs"], more].concat());
    let shown = pages(&[folder]).with_code(0).stdout;
    assert!(shown.contains("memory policy bind:1"), "{shown}");
    pages(&[folder, "--mpol", "interleave:2-3"]).with_code(0);
    mounted.has_policy("interleave:2-3");
    let file = format!("{folder}/file");
    // Who maps a file shows where its pages are.
    let holder = Holder::start(&[], 16, 1, &file);
    let placed = holder.placed(&file);
    assert!(placed.ends_with(" N2=2048 N3=2048"), "{placed}");
    drop(holder);
    laboratory.run(&["undo"]).with_code(0);
    mounted.has_policy("bind:1");
    let none = format!("{folder}/none");
    pages(&[&none, "--mpol", "local"]).with_code(2);
    pages(&[folder, "--mpol", "bind:9"]).with_code(2);
    mounted.has_policy("bind:1");
    laboratory.nothing_is_left();
}

/// A tmpfs with the policy `bind:1`; unmounted when dropped.
struct Mounted(String);

impl Mounted {
    fn new(laboratory: &Laboratory) -> Self {
        let folder = laboratory.folder().join("mounted");
        fs::create_dir(&folder).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64m,mpol=bind:1", "tmpfs"]);
        assert!(mount.arg(&folder).status().unwrap().success());
        Self(folder.to_str().unwrap().to_owned())
    }

    /// Asserts that /proc/mounts shows this policy.
    #[track_caller]
    fn has_policy(&self, policy: &str) {
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        let begin = format!("tmpfs {} ", self.0);
        let mount = mounts.lines().find(|line| line.starts_with(&begin));
        let options = mount.unwrap().split(' ').nth(3).unwrap();
        let found = options.split_once("mpol=").map(|(_, it)| it);
        assert_eq!(found, Some(policy), "{options}");
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let mut unmount = Command::new("umount");
        let _ = unmount
            .arg("--lazy")
            .arg(&self.0)
            .stderr(Stdio::null())
            .status();
    }
}
