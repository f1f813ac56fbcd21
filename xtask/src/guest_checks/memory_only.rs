//! A node with memory and without CPUs: binding to its CPUs is refused before anything is created;
//! its memory can be requested, and then holds what was requested.

use anyhow::Result;

use super::check::{Answers, Check, GuestCommand, shell};
use super::complaints::Complaints;
use super::move_memory::FUNCTIONS;
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "memory-only",
    applies_to: |shape| shape.name == "memory-only-node",
    cgroup: CgroupVersion::V2,
    seconds: 60,
    commands,
    judge,
};

const NAME: &str = "no CPUs";

const SCRIPT: &str = r#"
said() { echo "$1, said: $(grep -c 'node 2 has memory only and no CPUs' /tmp/said)"; }
said "bind: $(quiet bind --cpunodebind 2 -- touch /tmp/started) $(ls /tmp/started 2>/dev/null)"
said "group: $(quiet group create far --cpunodebind 2) $(find /sys/fs/cgroup -name '*far*')"
# It has its memory until numalab has reported where that is.
cat >/tmp/taker.py <<'END'
import os, time
memory, report = bytearray(64 << 20), "/tmp/report"
while not (os.path.exists(report) and os.path.getsize(report)): time.sleep(0.1)
END
verified() { rm -f /tmp/report
    quiet bind "$@" --verify --until-bytes 64MiB --report /tmp/report -- \
        /usr/bin/python3 /tmp/taker.py; }
echo "its memory: $(verified --cpunodebind 0 --membind 2)"
numalab group create far --cpunodebind 0 --membind 2 >/dev/null
echo "group: $(verified --group far)"
echo "undo: $(quiet undo)"; numalab undo --list
"#;

const LINES: &str = "\
bind: 2 , said: 1
group: 2 , said: 1
its memory: 0
group: 0
undo: 0
nothing is in force
";

fn commands(_: &Shape) -> Vec<GuestCommand> {
    vec![shell(NAME, &format!("{FUNCTIONS}{SCRIPT}"))]
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    complaints.expect_lines(NAME, answers.text(NAME)?, LINES);
    Ok(())
}
