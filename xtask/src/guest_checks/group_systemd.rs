//! `numalab group` and `numalab bind` where systemd is the init and owns the cgroup tree: a group
//! is a slice that systemd creates, programs start in scopes of it, a run creates its groups in its
//! own scope, and nothing is left after undo.

use anyhow::Result;

use super::check::{Answers, Check, Complaints, GuestCommand, shell};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "group-systemd",
    applies_to: |shape| shape.name == "four-node-ring",
    cgroup: CgroupVersion::V2,
    seconds: 300,
    commands,
    judge,
};

const NAME: &str = "under systemd";
const SCRIPT: &str = include_str!("group_systemd.sh");

/// The script that runs as a service.
const INNER: &str = r#"
slice=/sys/fs/cgroup/numalab.slice/numalab-check.slice
echo "init: $(cat /proc/1/comm)"
numalab group create check -N 1 -m 1-2 --cpu-limit 1.5 >/dev/null
echo "create: $? $(cat $slice/cpuset.cpus.effective $slice/cpuset.mems.effective $slice/cpu.max |
    tr '\n' ' ')"
echo "list: $(numalab group list | grep -c 'systemd numalab-check.slice')"
numalab bind --group check sh -c 'cat /proc/self/cgroup; grep _allowed_list /proc/self/status' |
    sed 's/run-.*[.]scope/SCOPE/' | tr '\t' ' '
numalab bind --group check -m 2 sh -c 'exit 7'
echo "bind: $?"
numalab bind --cpu-limit 0.5 sh -c \
    'cat "/sys/fs/cgroup$(sed s/0::// /proc/self/cgroup)/cpu.max"; exit 7'
echo "limit: $?"
systemd-run --quiet --slice=numalab-check.slice --unit=member sleep 3600
numalab group set check -m 2 >/dev/null
echo "set: $? $(cat $slice/cpuset.mems.effective)"
numalab group add check $$ 2>/dev/null; echo "add: $?"
numalab group set /system.slice -m 2 2>/dev/null; echo "of others: $?"
numalab group delete check 2>/dev/null; echo "delete with a member: $?"
systemctl stop member
cat >/dev/shm/bound.toml <<'TOML'
format = "numalab.experiment/1"
name = "bound"
question = "Where does the group of a trial lie?"
baseline = "bound"
asks-about-memory = false
[placement]
mechanism = "group"
cpus = "2"
[sga]
cache = "4MiB"
[load]
sessions = 1
[[case]]
name = "bound"
about = "In a group."
TOML
numalab run /dev/shm/bound.toml --trials 5 --seconds 0.1 --json >/dev/shm/run.json \
    2>/dev/shm/run.said || cat /dev/shm/run.said
echo "run: $(grep -c '"valid": true' /dev/shm/run.json)"
grep -o '/sys/fs/cgroup/[^"]*' /dev/shm/run.json |
    sed 's/run-[^/]*[.]scope/SCOPE/; s/numalab-[0-9]*$/NAME/' | uniq
numalab undo
numalab undo --list
echo "not ours: $(ls -d /sys/fs/cgroup/numalab-* /sys/fs/cgroup/*/run-*.scope 2>/dev/null)"
echo "left: $(ls -d /sys/fs/cgroup/numalab.slice 2>/dev/null)"
"#;

const LINES: &str = "\
init: systemd
create: 0 2-3 1-2 150000 100000 
list: 1
0::/numalab.slice/numalab-check.slice/SCOPE
Cpus_allowed_list: 2-3
Mems_allowed_list: 1-2
numalab: far-memory: CPUs 2-3 are on nodes 1, but memory comes from nodes 2: all of it is remote
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

fn commands(_: &Shape) -> Vec<GuestCommand> {
    let script = format!("cat >/dev/shm/inner.sh <<'END'\n{INNER}\nEND\n{SCRIPT}");
    vec![shell(NAME, &script)]
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    complaints.expect_lines(NAME, answers.text(NAME)?, LINES);
    Ok(())
}
