//! A Redis that the drop-in of its unit binds to another node than its CPUs, under a systemd: the
//! doctor names that file, and the files that it writes for good cure the unit.
//!
//! Tests of judgement, relocation.

use super::kernel_setting::pages_stay_where_they_are;
use super::scripts::BOOT_SYSTEMD;
use crate::laboratory::Laboratory;
use crate::redis_program::REDIS;
use crate::unmet_need::is_guest;

/// Drop-ins of administrators, where they may be written.
const MOUNTS: &str = "\
mount --make-rshared /
mount -t tmpfs -o mode=755 tmpfs /etc/systemd/system
";
/// What prints [`LINES`] as a service of systemd.
const CHECK: &str = include_str!("cured_unit.sh");

/// Two facts are of that file: `NUMAPolicy=` and its mask, and the CPUs.
const LINES: &str = "\
memory: N0
finding: \"id\": \"memory-far\"
placed by: 3
applied: N3
undone: N0
started again: N3
NUMAPolicy=local
verified: 0
no plan is left
";

#[test]
fn a_unit_is_cured_by_the_files_of_its_plan() {
    let name = "a_unit_is_cured_by_the_files_of_its_plan";
    if !is_guest(name, "four-node-ring") {
        return;
    }
    let _settings = pages_stay_where_they_are();
    let laboratory = Laboratory::new();
    if REDIS.link_to_server(laboratory.folder(), name).is_none() {
        return;
    }
    laboratory.file("mounts.sh", MOUNTS);
    laboratory.file("check.sh", CHECK);
    let finished = laboratory.script(BOOT_SYSTEMD).with_code(0);
    assert_eq!(finished.stdout, LINES, "{}", finished.stderr);
}
