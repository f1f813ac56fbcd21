//! `numalab latency` while things go wrong: a node whose memory is full, and a CPU that goes
//! offline while it measures. What cannot be measured has a reason, and nothing else is affected.

use anyhow::{Context, Result};
use serde_json::Value;

use super::check::{Answers, Check, Complaints, GuestCommand, shell};
use super::run_document::cases;
use crate::arguments::CgroupVersion;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "latency-trouble",
    applies_to: |shape| shape.name == "memory-only-node",
    cgroup: CgroupVersion::V2,
    seconds: 300,
    commands: |_| vec![full_node(), cpu_off()],
    judge: |_, answers, complaints| {
        a_full_node_is_null(answers, complaints)?;
        a_cpu_that_went_is_named(answers, complaints)
    },
};

/// Fills node 2, which has no CPUs: with huge pages, which are quick to allocate, in one file that
/// has them all, and the rest except 9 MiB with small ones, preferred there and not bound. The
/// kernel keeps more than that in reserve: a process bound there that takes more is killed, and
/// numalab must not be. Everything is removed in the end, because it would take the memory of the
/// next check.
fn full_node() -> GuestCommand {
    shell(
        "full-node",
        "node=/sys/devices/system/node/node2; pool=$node/hugepages/hugepages-2048kB/nr_hugepages
        above() { awk '/MemFree/ { print $4 - 9216 }' $node/meminfo; }
        mkdir /tmp/full /tmp/rest && mount -t hugetlbfs none /tmp/full &&
        mount -t tmpfs -o mpol=prefer:2 none /tmp/rest || exit 99
        trap 'umount /tmp/full /tmp/rest; echo 0 >$pool' EXIT
        echo $(( $(above) / 2048 )) >$pool
        free=$(awk '/HugePages_Free/ { print $2 }' /proc/meminfo)
        fallocate -l $(( free * 2097152 )) /tmp/full/file || exit 98
        head -c $(( $(above) * 1024 )) /dev/zero >/tmp/rest/file || exit 97
        numalab latency --json",
    )
}

/// Takes CPU 2, which measures for node 1, offline as soon as it has measured once, and waits for
/// the end.
fn cpu_off() -> GuestCommand {
    shell(
        "cpu-off",
        "export XDG_STATE_HOME=/tmp/cpu-off; off=/sys/devices/system/cpu/cpu2/online
        numalab latency --nodes 1 --rounds 1000 >/dev/null & pid=$!
        tries=0
        until numalab show last --json 2>/dev/null | grep -q '\"valid\": true'; do
            tries=$((tries + 1)); [ $tries -lt 100 ] && kill -0 $pid || exit 98
        done
        echo 0 >$off; wait $pid; status=$?; echo 1 >$off
        [ $status = 0 ] || { echo \"it ended with $status\" >&2; exit 97; }
        numalab show last --json",
    )
}

fn a_full_node_is_null(answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let document = answers.json("full-node")?;
    let rows = document["ns"].as_array().context("no matrix")?;
    for row in rows {
        let is_number: Vec<bool> = (0..3).map(|column| row[column].is_number()).collect();
        complaints.expect("figures of a row", &is_number, &vec![true, true, false]);
    }
    let reasons = document["not_measured"].as_array().context("reasons")?;
    complaints.expect("reasons", &reasons.len(), &rows.len());
    for cell in reasons {
        let reason = cell["reason"].as_str().unwrap_or_default();
        let names = reason.starts_with("not enough memory on node 2");
        complaints.expect(&format!("a reason: {reason}"), &names, &true);
    }
    Ok(())
}

fn a_cpu_that_went_is_named(answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let run = answers.json("cpu-off")?;
    for case in cases(&run)? {
        let name = &case["name"];
        let trials = case["trials"].as_array().context("a case has trials")?;
        let (valid, lost): (Vec<&Value>, Vec<_>) =
            trials.iter().partition(|trial| trial["valid"] == true);
        for trial in valid {
            let used = &trial["evidence"]["measurements"][0]["cpus_used"];
            complaints.expect(&format!("CPUs of {name}"), used, &Value::from("2"));
        }
        complaints.expect(&format!("{name} lost trials"), &lost.is_empty(), &false);
        for trial in lost {
            let reason = trial["reason"].as_str().unwrap_or_default();
            let names = reason.contains("CPUs 2") || reason.contains("requested 2");
            complaints.expect(&format!("a reason: {reason}"), &names, &true);
        }
    }
    Ok(())
}
