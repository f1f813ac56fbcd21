//! A deliberate Cyclops in /dev/shm, as in article 004: the doctor finds it while the kernel has
//! all of it on one node; once its fix is applied, the kernel has it on both nodes and the finding
//! is gone. The fix that needs no restart does the same, until undo. A doctor without a target
//! examines the machine only: it finds what is changed there, and not the Cyclops beside it.

use anyhow::{Context, Result};
use serde_json::Value;

use super::check::{Answers, Check, Complaints, GuestCommand, shell};
use super::inspect::PROGRAM;
use super::numa_maps::lines;
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "doctor",
    applies_to: |shape| shape.name == "two-node",
    cgroup: CgroupVersion::V2,
    seconds: 240,
    commands,
    judge,
};

/// Findings about the memory of a target.
const OF_MEMORY: [&str; 3] = ["cyclops", "memory-skew", "sga-without-policy"];

/// Returns a script that holds 128 MiB in /dev/shm, first touched on node 0 and then used from
/// everywhere.
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

/// Prints what the doctor says about the machine before and after a setting of the kernel is
/// changed.
const MACHINE: &str = r#"mode=/proc/sys/vm/zone_reclaim_mode; kept=$(cat $mode)
    echo 0 >$mode; before=$(numalab doctor --json)
    echo 1 >$mode; after=$(numalab doctor --json); echo $kept >$mode
    printf '{"before":%s,"after":%s}' "$before" "$after""#;
/// Runs the first command of the fix, which needs no restart, and undoes it.
const ONLINE: &str = r#"
    numalab doctor $pid --json >/tmp/found
    grep -o 'numalab move [^"]*' /tmp/found | head -n 1 >/tmp/online
    grep -q 'at least .* for .*, measured here' /tmp/found; echo "{\"measured\":$?,"
    sh /tmp/online >/dev/null 2>&1; echo "\"move\":$?, \"moved\":"; numalab doctor $pid --json
    numalab undo >/dev/null 2>&1; echo ",\"undo\":$?, \"undone\":"; numalab doctor $pid --json
    echo "}""#;

/// Gives memory that is on node 0 already the policy to be interleaved, and applies the fix.
const LATE: &str = r#"
    numactl --length=$(stat -c %s /dev/shm/late) --file /dev/shm/late --interleave=0-1
    line=$(grep /dev/shm/late /proc/$pid/numa_maps)
    printf '{"kernel":"%s","balancing":%s,' "$line" "$(cat /proc/sys/kernel/numa_balancing)"
    numalab doctor $pid --json >/tmp/late; printf '"found":'; cat /tmp/late
    sh -c "$(grep -o 'numalab move [^"]*' /tmp/late | head -n 1)" >/dev/null 2>&1
    printf ',"move":%s,"moved":' $?; numalab doctor $pid --json; echo "}"
    numalab undo >/dev/null 2>&1"#;

fn commands(_: &Shape) -> Vec<GuestCommand> {
    let look = |name: &str| {
        format!(
            "printf '{{\"doctor\":%s,\"kernel\":\"%s\"}}' \"$(numalab doctor $pid --json)\" \
             \"$(grep /dev/shm/{name} /proc/$pid/numa_maps)\""
        )
    };
    let fail = "numalab doctor $pid --fail-on error >/dev/null 2>&1; echo $?";
    let apply = "numalab doctor $pid --json | grep -o 'mount -o remount[^\"]*' >/tmp/fix";
    vec![
        shell(
            "program",
            &format!("cat >/tmp/shared_memory.py <<'END'\n{PROGRAM}\nEND"),
        ),
        shell("machine", &hold("zero", MACHINE)),
        shell("cyclops", &hold("one", &look("one"))),
        shell("online", &hold("online", ONLINE)),
        shell("late", &hold("late", LATE)),
        shell(
            "status with --fail-on",
            &hold("two", &format!("{fail}; {apply}")),
        ),
        shell(
            "fix",
            "cat /tmp/fix; sh /tmp/fix; grep ' /dev/shm ' /proc/mounts",
        ),
        shell("fixed", &hold("three", &look("three"))),
    ]
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let machine = answers.json("machine")?;
    for (when, is_changed) in [("before", false), ("after", true)] {
        let found = ids(&machine[when])?;
        let changed = has(&found, "zone-reclaim");
        complaints.expect(
            &format!("zone-reclaim {when} the change"),
            &changed,
            &is_changed,
        );
        for id in OF_MEMORY {
            let what = format!("{id} without a target, {when} the change");
            complaints.expect(&what, &has(&found, id), &false);
        }
    }
    let cyclops = answers.json("cyclops")?;
    complaints.expect("nodes of the Cyclops", &nodes(&cyclops)?, &vec![0]);
    complaints.expect(
        "cyclops found",
        &has(&ids(&cyclops["doctor"])?, "cyclops"),
        &true,
    );
    let is_balancing = answers.json("late")?["balancing"] != 0;
    let in_vain = has(&ids(&cyclops["doctor"])?, "balancing-in-vain");
    complaints.expect(
        "balancing-in-vain where the kernel balances",
        &in_vain,
        &is_balancing,
    );
    let online = answers.json("online")?;
    for what in ["measured", "move", "undo"] {
        let what_online = format!("{what} of the fix without a restart");
        complaints.expect(&what_online, &online[what], &0.into());
    }
    let moved = ids(&online["moved"])?;
    for id in OF_MEMORY {
        complaints.expect(&format!("{id} after the move"), &has(&moved, id), &false);
    }
    let undone = ids(&online["undone"])?;
    complaints.expect("cyclops after the undo", &has(&undone, "cyclops"), &true);
    judge_late(&answers.json("late")?, complaints)?;
    let status = answers.text("status with --fail-on")?.trim().to_owned();
    complaints.expect("exit code with --fail-on error", &status, &"7".to_owned());
    let fix = answers.text("fix")?;
    let applied = fix.contains("mpol=interleave:0-1");
    complaints.expect(
        &format!("the fix is a remount, and holds: {fix}"),
        &applied,
        &true,
    );
    let fixed = answers.json("fixed")?;
    complaints.expect("nodes after the fix", &nodes(&fixed)?, &vec![0, 1]);
    let after = ids(&fixed["doctor"])?;
    for id in OF_MEMORY {
        complaints.expect(&format!("{id} after the fix"), &has(&after, id), &false);
    }
    Ok(())
}

/// Memory that is not where its policy says, by the kernel, and is after the fix.
fn judge_late(late: &Value, complaints: &mut Complaints) -> Result<()> {
    let id = "interleave-not-honoured";
    complaints.expect("nodes under a late policy", &nodes(late)?, &vec![0]);
    let line = late["kernel"].as_str().unwrap_or_default();
    let has_policy = line.contains("interleave:0-1");
    complaints.expect(&format!("a late policy in {line}"), &has_policy, &true);
    let found = ids(&late["found"])?;
    complaints.expect(id, &has(&found, id), &true);
    complaints.expect("move of the fix", &late["move"], &0.into());
    let moved = ids(&late["moved"])?;
    complaints.expect(&format!("{id} after the move"), &has(&moved, id), &false);
    Ok(())
}

/// Returns the nodes on which the kernel has the shared memory.
fn nodes(answer: &Value) -> Result<Vec<u64>> {
    let text = answer["kernel"].as_str().context("a line of numa_maps")?;
    let line = lines(text).pop().context("a line with pages")?;
    Ok(line.nodes())
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
