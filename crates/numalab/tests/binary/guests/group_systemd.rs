//! `numalab group` and `numalab bind` where systemd is the init and owns the cgroup tree: a group
//! is a slice that systemd creates, programs start in scopes of it, a run creates its groups in its
//! own scope, and nothing is left after undo.
//!
//! Tests of placement, journal.

use super::scripts::BOOT_SYSTEMD;
use crate::laboratory::Laboratory;
use crate::unmet_need::is_guest;

/// What prints [`LINES`] as a service of systemd.
const CHECK: &str = include_str!("group_systemd.sh");

const LINES: &str = "\
init: systemd
create: 0 2-3 1-2 150000 100000 
list: 1
0::/numalab.slice/numalab-check.slice/SCOPE
Cpus_allowed_list: 2-3
Mems_allowed_list: 1-2
numalab: far-memory: the program runs on CPUs 2-3 of node 1, but memory comes from node 2: \
all of it is remote
bind: 7
50000 100000
limit: 7
set: 0 2
add: 2
of others: 2
delete with a member: 2
run: 5
/sys/fs/cgroup/system.slice/SCOPE/NAME
undone: processor group check
no changes in force
not ours: 
left: 
";

#[test]
fn groups_are_slices_and_programs_start_in_scopes() {
    if !is_guest(
        "groups_are_slices_and_programs_start_in_scopes",
        "four-node-ring",
    ) {
        return;
    }
    let laboratory = Laboratory::new();
    laboratory.file("check.sh", CHECK);
    let finished = laboratory.script(BOOT_SYSTEMD).with_code(0);
    assert_eq!(finished.stdout, LINES, "{}", finished.stderr);
}
