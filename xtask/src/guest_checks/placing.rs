//! `numalab bind` and `numalab group` on four nodes, with groups of cgroup v2 and of v1: a
//! program's memory lies where each policy puts it, according to numalab and to the kernel, which
//! is asked about the same process; and a program that sets its own policy is detected.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde_json::Value;

use super::check::{Answers, Check, Complaints, GuestCommand, shell};
use crate::arguments::CgroupVersion;

/// The check with groups of cgroup v2, and without groups.
pub(super) const CHECK_V2: Check = Check {
    name: "placing",
    applies_to: |shape| shape.name == "four-node-ring",
    cgroup: CgroupVersion::V2,
    seconds: 420,
    commands: |_| commands(ROWS.iter()),
    judge: |_, answers, complaints| judge(2, ROWS.iter(), answers, complaints),
};

/// The check with groups of cgroup v1.
pub(super) const CHECK_V1: Check = Check {
    name: "placing-v1",
    cgroup: CgroupVersion::V1,
    commands: |_| commands(rows_in_groups()),
    judge: |_, answers, complaints| judge(1, rows_in_groups(), answers, complaints),
    ..CHECK_V2
};

/// Memory that the program allocates.
const MIB: u64 = 32;
/// The group that the rows use: CPUs of node 1, memory of nodes 1 and 2.
const GROUP: &str = "check";

/// One start: its name, the options of `bind`, the command before the program, and where its memory
/// must be found.
struct Row {
    name: &'static str,
    options: &'static str,
    program: &'static str,
    nodes: &'static [u64],
    /// The program's own policy that must be detected, if any.
    overriding: Option<&'static str>,
}

const fn row(name: &'static str, options: &'static str, nodes: &'static [u64]) -> Row {
    Row {
        name,
        options,
        program: "",
        nodes,
        overriding: None,
    }
}

const fn overriding(
    name: &'static str,
    options: &'static str,
    program: &'static str,
    policy: &'static str,
    nodes: &'static [u64],
) -> Row {
    Row {
        name,
        options,
        program,
        nodes,
        overriding: Some(policy),
    }
}

/// The starts. Node N has CPUs 2N and 2N + 1; without a policy memory comes from near the CPUs.
const ROWS: &[Row] = &[
    row("membind", "-N 0 -m 2", &[2]),
    row("membind balanced", "-N 0 -m 2 -b", &[2]),
    row("interleave", "-N 0 -i 1,3", &[1, 3]),
    row("preferred", "-N 0 -p 3", &[3]),
    row("preferred-many", "-N 1 -P 0-1", &[1]),
    row("localalloc", "-C 4 -l", &[2]),
    row("cpus alone", "-N 3", &[3]),
    row("group alone", "--group check", &[1]),
    row("group membind", "--group check -m 2", &[2]),
    row("group membind balanced", "--group check -m 2 -b", &[2]),
    row("group interleave", "--group check -i all", &[1, 2]),
    row("group preferred", "--group check -p 2", &[2]),
    row("group preferred-many", "--group check -P 1-2", &[1]),
    row("group localalloc", "--group check -l", &[1]),
    overriding("overriding", "-m 1", "numactl -m 2", "bind:2", &[2]),
    overriding(
        "overriding in a group",
        "--group check",
        "numactl -i 1-2",
        "interleave:1-2",
        &[1, 2],
    ),
];

/// The starts for which the version of cgroups makes a difference.
fn rows_in_groups() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(|row| row.options.contains("--group"))
}

fn commands(rows: impl Iterator<Item = &'static Row>) -> Vec<GuestCommand> {
    let make = format!("numalab group create {GROUP} -N 1 -m 1-2 --json");
    let mut commands = vec![shell("make", &make)];
    commands.extend(rows.map(|row| shell(row.name, &script(row))));
    commands.push(shell("changed online", CHANGE));
    commands.push(shell("refused", REFUSED));
    commands.push(shell("undone", UNDO));
    commands
}

/// Returns the script of a start. dd allocates a block of memory, fills it, and stays until its
/// output is read. That happens once numalab has reported and the kernel was asked about the same
/// process.
fn script(row: &Row) -> String {
    let Row {
        options, program, ..
    } = row;
    format!(
        "rm -f /tmp/pipe /tmp/report /tmp/kernel; mkfifo /tmp/pipe
         {{ while ! [ -s /tmp/report ]; do sleep 0.1; done
           awk '/anon=/ {{ for (i = 2; i <= NF; i++) if ($i ~ /^N[0-9]+=/) {{
                split($i, part, \"=\"); sum[part[1]] += part[2] }} }}
              END {{ for (node in sum) if (sum[node] > 256) printf \"%s \", substr(node, 2) }}' \
             /proc/$(pidof dd)/numa_maps >/tmp/kernel; cat >/dev/null; }} </tmp/pipe &
         numalab bind {options} --verify --until-bytes 31MiB --json --report /tmp/report -- \
           {program} dd if=/dev/zero of=/tmp/pipe bs={MIB}M count=1 2>/dev/null
         status=$?; wait
         echo \"{{\\\"status\\\":$status,\\\"kernel\\\":\\\"$(cat /tmp/kernel)\\\",\
           \\\"report\\\":$(cat /tmp/report)}}\""
    )
}

/// Moves a running program into a group, then changes the group's memory nodes: its memory moves.
const CHANGE: &str = r#"
    rm -f /tmp/pipe; mkfifo /tmp/pipe
    { while ! [ -e /tmp/done ]; do sleep 0.1; done; cat >/dev/null; } </tmp/pipe &
    numactl -m 0 dd if=/dev/zero of=/tmp/pipe bs=32M count=1 2>/dev/null &
    while ! pid=$(pidof dd); do sleep 0.1; done
    while [ "$(awk '/RssAnon/ { print int($2 / 1024) }' /proc/$pid/status)" -lt 31 ]; do
      sleep 0.1; done
    numalab group create other -N 3 -m 0,3 >/dev/null && numalab group add other $pid >/dev/null
    before=$(numalab group list other --json)
    after=$(numalab group set other -m 3 --migrate --json)
    cpus=$(awk '/Cpus_allowed_list/ { print $2 }' /proc/$pid/status)
    kept=$(numalab group delete other 2>&1); numalab group delete other --evict >/dev/null
    freed=$(awk '/Cpus_allowed_list/ { print $2 }' /proc/$pid/status)
    touch /tmp/done; wait
    echo "{\"before\":$before,\"after\":$after,\"cpus\":\"$cpus\","
    echo "\"freed\":\"$freed\",\"kept\":\"$kept\"}"
"#;

/// Asks for what this kernel or this view of the cgroups cannot do, which is refused by name.
const REFUSED: &str = r#"
    numalab bind -w all true; echo "status $?"
    numalab bind -m 7 true; echo "status $?"
    numalab bind --group check -m 0 true; echo "status $?"
    top=/sys/fs/cgroup; [ -d $top/cpuset ] && top=$top/cpuset
    unshare -m sh -c "mount -o remount,bind,ro $top && numalab group create x"; echo "status $?"
"#;

const UNDO: &str =
    "numalab undo; numalab undo --list; find /sys/fs/cgroup -name check -o -name other
    cat /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || true";

fn judge(
    version: u64,
    rows: impl Iterator<Item = &'static Row>,
    answers: &Answers,
    complaints: &mut Complaints,
) -> Result<()> {
    let made = &answers.json("make")?["groups"][0];
    complaints.expect("version", &made["cgroup_version"], &version.into());
    complaints.expect("CPUs of the group", &made["cpus"], &"2-3".into());
    complaints.expect("nodes of the group", &made["memory_nodes"], &"1-2".into());
    for row in rows {
        compare(row, &answers.json(row.name)?, complaints)?;
    }
    changed_online(&answers.json("changed online")?, complaints)?;
    refused(answers, complaints)?;
    let undone = answers.text("undone")?;
    let after = undone
        .split_once("no changes in force\n")
        .map(|(_, after)| after);
    let is_gone = |after: &str| !after.contains("/check") && !after.contains("cpuset");
    let expected = undone.contains("undone: processor group check\n") && after.is_some_and(is_gone);
    complaints.expect(&format!("all of it is undone: {undone}"), &expected, &true);
    Ok(())
}

fn compare(row: &Row, answer: &Value, complaints: &mut Complaints) -> Result<()> {
    let what = |part: &str| format!("{}: {part}", row.name);
    let report = &answer["report"];
    let expected = row.nodes.iter().copied().collect::<BTreeSet<_>>();
    let memory = nodes_with_memory(&report["bytes_by_node"])?;
    complaints.expect(&what("nodes that numalab saw"), &memory, &expected);
    let kernel = answer["kernel"].as_str().unwrap_or("").split_whitespace();
    let kernel: BTreeSet<u64> = kernel.filter_map(|node| node.parse().ok()).collect();
    complaints.expect(&what("nodes in numa_maps"), &kernel, &expected);
    complaints.expect(
        &what("reached its size"),
        &report["trigger_reached"],
        &true.into(),
    );
    let found = report["overrides"]
        .as_array()
        .context("a list of overrides")?;
    match row.overriding {
        None => {
            let faults = format!("honoured: {}", report["contradictions"]);
            complaints.expect(&what(&faults), &report["honoured"], &true.into());
            complaints.expect(&what("status"), &answer["status"], &0.into());
        }
        Some(policy) => {
            let names_it = found
                .iter()
                .any(|one| one["policy"] == policy && one["name"] == "dd");
            complaints.expect(
                &what(&format!("{found:?} names {policy}")),
                &names_it,
                &true,
            );
            complaints.expect(&what("status"), &answer["status"], &6.into());
        }
    }
    Ok(())
}

/// Returns the nodes with more than 1 MiB: the kernel places a few pages before the program begins.
fn nodes_with_memory(bytes: &Value) -> Result<BTreeSet<u64>> {
    let bytes = bytes.as_object().context("bytes by node")?;
    let large = bytes
        .iter()
        .filter(|(_, bytes)| bytes.as_u64() > Some(1 << 20));
    large
        .map(|(node, _)| node.parse().with_context(|| format!("{node} is no node")))
        .collect()
}

fn changed_online(answer: &Value, complaints: &mut Complaints) -> Result<()> {
    let group = |when: &str| &answer[when]["groups"][0];
    let nodes = |when: &str| nodes_with_memory(&group(when)["bytes_by_node"]);
    let before = nodes("before")?;
    complaints.expect("memory as it came into the group", &before, &[0].into());
    complaints.expect("memory after the change", &nodes("after")?, &[3].into());
    complaints.expect("CPUs in the group", &answer["cpus"], &"6-7".into());
    complaints.expect(
        "CPUs after it was moved out",
        &answer["freed"],
        &"0-7".into(),
    );
    let kept = answer["kept"].as_str().unwrap_or("");
    let names_it = kept.contains("it has members: dd (");
    complaints.expect(&format!("a group in use is kept: {kept}"), &names_it, &true);
    Ok(())
}

fn refused(answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let statuses = answers.text("refused")?;
    let expected = "status 3\nstatus 2\nstatus 4\nstatus 4\n";
    complaints.expect("statuses", &statuses, &expected);
    let said = String::from_utf8_lossy(&answers.outcome("refused")?.stderr).into_owned();
    for sentence in [
        "weighted interleaving: needs Linux 6.9 or newer",
        "there is no node 7: this machine has 0-3",
        "allows memory only on nodes 1-2, not on 0",
        "is on a read-only file system, as in a container",
    ] {
        let says = said.contains(sentence);
        complaints.expect(&format!("{sentence:?} is said: {said}"), &says, &true);
    }
    Ok(())
}
