//! A deliberate Cyclops in /dev/shm, as in article 004: the doctor finds it while the kernel has
//! all of it on one node; once its fix is applied, the kernel has it on both nodes and the finding
//! is gone. The fix that needs no restart does the same, until undo. A doctor without a target
//! examines the machine only: it finds what is changed there, and not the Cyclops beside it.
//!
//! Tests of judgement.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::holder::{Holder, use_cpus};
use super::kernel_setting::KernelSettings;
use crate::laboratory::Laboratory;
use crate::unmet_need::is_guest;

/// Findings about the memory of a target.
const OF_MEMORY: [&str; 3] = ["cyclops", "memory-skew", "sga-without-policy"];

/// 128 MiB in /dev/shm, first touched on node 0 and then used from everywhere.
struct Cyclops {
    holder: Holder,
    file: PathBuf,
}

impl Cyclops {
    fn new() -> Self {
        let file = PathBuf::from("/dev/shm/cyclops");
        let words = ["taskset", "0x1"];
        let holder = Holder::start(&words, 128, 2, file.to_str().unwrap());
        let mut pids = holder.children();
        pids.push(holder.pid());
        use_cpus(&pids, "0-3");
        Self { holder, file }
    }

    /// Returns its line in numa_maps, as [`Holder::placed`].
    fn placed(&self) -> String {
        self.holder.placed("/dev/shm/cyclops")
    }

    /// Asserts that the kernel has it on these nodes only.
    #[track_caller]
    fn is_on(&self, nodes: &[&str]) {
        let placed = self.placed();
        let words = placed.split([' ', '=']);
        let found: Vec<_> = words.filter(|word| word.starts_with('N')).collect();
        assert_eq!(found, nodes, "{placed}");
    }
}

impl Drop for Cyclops {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

/// What the doctor says.
struct Diagnosis(Value);

impl Diagnosis {
    fn of(laboratory: &Laboratory, target: Option<&Cyclops>) -> Self {
        let pid = target.map(|it| it.holder.pid());
        let words = ["doctor"].into_iter().chain(pid.as_deref());
        Self(laboratory.document(&words.chain(["--json"]).collect::<Vec<_>>()))
    }

    /// Asserts whether it has this finding, perhaps as evidence of another one.
    #[track_caller]
    fn says(&self, id: &str, expected: bool) {
        let findings = self.0["findings"].as_array().unwrap();
        let has_evidence = |finding: &Value| {
            let mut facts = finding["evidence"].as_array().unwrap().iter();
            facts.any(|fact| fact["source"] == id)
        };
        let found = findings.iter().any(|it| it["id"] == id || has_evidence(it));
        assert_eq!(found, expected, "{id} in {:#}", self.0);
    }

    #[track_caller]
    fn finds_nothing_about_memory(&self) {
        for id in OF_MEMORY {
            self.says(id, false);
        }
    }

    /// Returns the first command of the plan that begins so.
    #[track_caller]
    fn fix(&self, begin: &str) -> String {
        let steps = ["now", "for_good"].map(|step| self.0["plan"][step].as_array());
        let fixes = steps.into_iter().flatten().flatten();
        let commands = fixes.filter_map(|fix| {
            let fix = fix.as_str().unwrap();
            fix.find(begin).map(|at| fix[at..].to_owned())
        });
        commands
            .into_iter()
            .next()
            .unwrap_or_else(|| panic!("no {begin} in {:#}", self.0))
    }
}

#[test]
fn without_a_target_only_the_machine_is_examined() {
    if !is_guest("without_a_target_only_the_machine_is_examined", "two-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let _cyclops = Cyclops::new();
    for (mode, is_changed) in [("0", false), ("1", true)] {
        let _mode = KernelSettings::set(["/proc/sys/vm/zone_reclaim_mode"], mode);
        let machine = Diagnosis::of(&laboratory, None);
        machine.says("zone-reclaim", is_changed);
        machine.finds_nothing_about_memory();
    }
}

#[test]
fn a_cyclops_is_found_until_it_is_moved() {
    if !is_guest("a_cyclops_is_found_until_it_is_moved", "two-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let cyclops = Cyclops::new();
    let found = Diagnosis::of(&laboratory, Some(&cyclops));
    cyclops.is_on(&["N0"]);
    found.says("cyclops", true);
    let balancing = fs::read_to_string("/proc/sys/kernel/numa_balancing").unwrap();
    found.says("balancing-in-vain", balancing.trim() != "0");
    let text = found.0.to_string();
    let is_measured = text.contains(", as measured here");
    assert!(is_measured, "how long the move takes, in {text}");
    laboratory.script(&found.fix("numalab move ")).with_code(0);
    Diagnosis::of(&laboratory, Some(&cyclops)).finds_nothing_about_memory();
    laboratory.run(&["undo"]).with_code(0);
    Diagnosis::of(&laboratory, Some(&cyclops)).says("cyclops", true);
    drop(cyclops);
    laboratory.nothing_is_left();
}

#[test]
fn memory_that_is_not_where_its_late_policy_says_is_found_until_it_is_moved() {
    let test = "memory_that_is_not_where_its_late_policy_says_is_found_until_it_is_moved";
    if !is_guest(test, "two-node") {
        return;
    }
    let id = "interleave-not-honoured";
    let laboratory = Laboratory::new();
    let cyclops = Cyclops::new();
    laboratory
        .script("numactl --length=128m --file /dev/shm/cyclops --interleave=0-1")
        .with_code(0);
    cyclops.is_on(&["N0"]);
    let placed = cyclops.placed();
    assert!(placed.starts_with("interleave:0-1 "), "{placed}");
    let found = Diagnosis::of(&laboratory, Some(&cyclops));
    found.says(id, true);
    laboratory.script(&found.fix("numalab move ")).with_code(0);
    Diagnosis::of(&laboratory, Some(&cyclops)).says(id, false);
    laboratory.run(&["undo"]).with_code(0);
}

#[test]
fn a_cyclops_does_not_come_again_once_its_mount_interleaves() {
    let test = "a_cyclops_does_not_come_again_once_its_mount_interleaves";
    if !is_guest(test, "two-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let _dev_shm = OwnDevShm::mounted();
    let cyclops = Cyclops::new();
    let words = ["doctor", &cyclops.holder.pid(), "--fail-on", "error"];
    laboratory.run(&words).with_code(7);
    let fix = Diagnosis::of(&laboratory, Some(&cyclops)).fix("mount -o remount");
    drop(cyclops);
    laboratory.script(&fix).with_code(0);
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    let mut mounts = mounts.lines();
    let mount = mounts.rfind(|line| line.contains(" /dev/shm "));
    let mount = mount.unwrap();
    assert!(mount.contains("mpol=interleave:0-1"), "{fix}: {mount}");
    let cyclops = Cyclops::new();
    cyclops.is_on(&["N0", "N1"]);
    Diagnosis::of(&laboratory, Some(&cyclops)).finds_nothing_about_memory();
}

/// A /dev/shm over that of the guest: a policy that a mount was given cannot be taken from it again
/// (mm/shmem.c, `shmem_reconfigure`).
struct OwnDevShm;

impl OwnDevShm {
    fn mounted() -> Self {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "tmpfs", "/dev/shm"]);
        assert!(mount.status().unwrap().success());
        Self
    }
}

impl Drop for OwnDevShm {
    fn drop(&mut self) {
        let mut unmount = Command::new("umount");
        let _ = unmount.args(["--lazy", "/dev/shm"]).status();
    }
}
