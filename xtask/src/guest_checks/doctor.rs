//! A Cyclops made on purpose in /dev/shm, as article 004 saw one: the doctor finds it, and once its
//! fix is applied it is gone.

use anyhow::{Context, Result};
use serde_json::Value;

use super::answers::Answers;
use super::check::{Check, GuestCommand, shell};
use super::complaints::Complaints;
use super::inspect::PROGRAM;
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub const CHECK: Check = Check {
    name: "doctor",
    applies_to: |shape| shape.name == "two-node",
    cgroup: CgroupVersion::V2,
    seconds: 180,
    commands,
    judge,
};

/// Holds 128 MiB in /dev/shm, first touched on node 0 and then used from everywhere.
fn hold(name: &str, then: &str) -> String {
    format!(
        "rm -f /tmp/ready /dev/shm/{name}
         taskset 0x1 /usr/bin/python3 /tmp/shared_memory.py 128 2 /dev/shm/{name} /tmp/ready \
           >/dev/null 2>&1 &
         while ! [ -s /tmp/ready ]; do sleep 0.2; done; pid=$(cat /tmp/ready)
         for one in $pid $(ps -o pid= --ppid $pid); do taskset -p 0xf $one >/dev/null; done
         {then}
         kill -- $(ps -o pid= --ppid $pid) $pid; rm -f /dev/shm/{name}"
    )
}

fn commands(_: &Shape) -> Vec<GuestCommand> {
    let look = "numalab doctor $pid --json";
    let fail = "numalab doctor $pid --fail-on error >/dev/null 2>&1; echo $?";
    let apply = "numalab doctor $pid --json | grep -o 'mount -o remount[^\"]*' >/tmp/fix";
    vec![
        shell(
            "program",
            &format!("cat >/tmp/shared_memory.py <<'END'\n{PROGRAM}\nEND"),
        ),
        shell("machine", "numalab doctor --json"),
        shell("cyclops", &hold("one", look)),
        shell(
            "status with --fail-on",
            &hold("two", &format!("{fail}; {apply}")),
        ),
        shell(
            "fix",
            "cat /tmp/fix; sh /tmp/fix; grep ' /dev/shm ' /proc/mounts",
        ),
        shell("mended", &hold("three", look)),
    ]
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let machine = ids(&answers.json("machine")?)?;
    complaints.expect(
        "no cyclops without a target",
        &has(&machine, "cyclops"),
        &false,
    );
    let before = ids(&answers.json("cyclops")?)?;
    complaints.expect("cyclops found", &has(&before, "cyclops"), &true);
    let status = answers.text("status with --fail-on")?.trim().to_owned();
    complaints.expect("exit code with --fail-on error", &status, &"7".to_owned());
    let fix = answers.text("fix")?;
    let applied = fix.contains("mpol=interleave:0-1");
    complaints.expect(
        &format!("the fix is a remount, and holds: {fix}"),
        &applied,
        &true,
    );
    let after = ids(&answers.json("mended")?)?;
    for id in ["cyclops", "memory-skew", "sga-without-policy"] {
        complaints.expect(&format!("{id} after the fix"), &has(&after, id), &false);
    }
    Ok(())
}

pub(super) fn has(ids: &[String], id: &str) -> bool {
    ids.iter().any(|known| known == id)
}

pub(super) fn ids(document: &Value) -> Result<Vec<String>> {
    let findings = document["findings"]
        .as_array()
        .context("a list of findings")?;
    Ok(findings
        .iter()
        .filter_map(|it| it["id"].as_str().map(str::to_owned))
        .collect())
}
