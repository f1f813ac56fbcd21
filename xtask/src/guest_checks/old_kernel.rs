//! A kernel that is older than some calls of numalab's: what it can do works, and what it cannot is
//! refused with the version that can, with nothing left behind.

use anyhow::Result;

use super::check::{Answers, Check, Complaints, shell};
use super::tests_of_binary;
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "old-kernel",
    applies_to: |shape| shape.name == "two-node",
    cgroup: CgroupVersion::V2,
    seconds: 400,
    commands: |shape| {
        vec![
            shell("release", "uname -r"),
            shell("balance", BALANCE),
            tests_of_binary::command(shape, &MODULES),
        ]
    },
    judge,
};

/// Tests of the binary that look at memory, move it and watch it.
const MODULES: [&str; 3] = ["kernel_agrees", "moving", "first_touch_by_node"];

/// Asks for the balancing of a program's shared memory, which needs a flag of Linux 5.12 that mbind
/// of later kernels takes; prints the exit code, what was said, what is left, and the policy.
const BALANCE: &str = "
    cat >/tmp/holder.py <<'END'
import mmap, time
memory = mmap.mmap(-1, 32 << 20)
memory.write(b'x' * (32 << 20))
print('ready', flush=True)
time.sleep(600)
END
    python3 /tmp/holder.py >/tmp/ready & holder=$!
    until grep -q ready /tmp/ready; do sleep 0.2; done
    numalab balance $holder --for 5s 2>/tmp/said
    echo \"code $?\"
    cat /tmp/said
    numalab undo --list
    grep -o '^[0-9a-f]* [^ ]* file=/dev/zero' /proc/$holder/numa_maps | cut -d ' ' -f 2
    kill $holder
";

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let release = answers.text("release")?.trim();
    if !release.starts_with("5.10.") {
        complaints.add(format!(
            "the guest runs {release}, not the kernel of Debian 11"
        ));
    }
    let balance = answers.text("balance")?;
    for expected in [
        "code 3\n",
        "Linux 5.12",
        "no changes in force\n",
        "\ndefault\n",
    ] {
        if !balance.contains(expected) {
            complaints.add(format!("balance: expected {expected:?}, found:\n{balance}"));
        }
    }
    tests_of_binary::judge_modules(&MODULES, answers, complaints)
}
