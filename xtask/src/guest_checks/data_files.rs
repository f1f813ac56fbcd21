//! `--data-files` on two nodes: cached pages of a file that a process has open but not mapped are
//! found where they were written, nothing is read in to find them, and a cache far from the process
//! is a finding that disappears once the process may run there.

use anyhow::{Context, Result};
use serde_json::Value;

use super::check::{Answers, Check, GuestCommand, shell};
use super::complaints::Complaints;
use super::doctor::{has, ids};
use super::look::{FUNCTIONS, bytes_by_node, numbers};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "data-files",
    applies_to: |shape| shape.name == "two-node",
    cgroup: CgroupVersion::V2,
    seconds: 120,
    commands,
    judge,
};

/// MiB of the file that were written on each node.
const WRITTEN_MIB: [u64; 2] = [16, 48];

/// Maximum change of the cache of all files meanwhile, in kB: an inspection that reads files in
/// would add the 64 MiB of the hole.
const OTHERS_KIB: u64 = 1024;

fn commands(_: &Shape) -> Vec<GuestCommand> {
    let [near, far] = WRITTEN_MIB;
    let script = format!(
        r#"{FUNCTIONS}
cached() {{
    echo 1 >/proc/sys/vm/stat_refresh
    awk '/FilePages:/ {{ printf "%s%s", s, $4; s = "," }}' /sys/devices/system/node/node*/meminfo
}}
numactl --membind=0 dd if=/dev/zero of=$ram/table bs=1M count={near} 2>/dev/null
numactl --membind=1 dd if=/dev/zero of=$ram/table bs=1M count={far} seek={near} conv=notrunc \
    2>/dev/null
truncate -s 64M $ram/hole
taskset 0x3 sleep 3600 3<$ram/table 4<$ram/hole &
pid=$!
numalab inspect $pid --data-files >/dev/null
before=$(cached); residency=$(numalab inspect $pid --data-files --json); after=$(cached)
echo "{{\"before\":[$before],\"after\":[$after],\"residency\":$residency,"
echo '"unasked":'; numalab doctor $pid --json
echo ',"far":'; numalab doctor $pid --data-files --json
taskset -p 0xf $pid >/dev/null
echo ',"near":'; numalab doctor $pid --data-files --json; echo }}
end_family $pid"#
    );
    vec![shell("cached files", &script)]
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let answer = answers.json("cached files")?;
    let segments = answer["residency"]["segments"].as_array();
    let named = |end: &str| {
        let mut segments = segments.into_iter().flatten();
        segments.find(|of| of["name"].as_str().is_some_and(|name| name.ends_with(end)))
    };
    let table = bytes_by_node(named("/table").context("the file among the segments")?);
    let expected = [0, 1].map(|node| (node, WRITTEN_MIB[node as usize] << 20));
    complaints.expect("the cache of the file", &table, &expected.into());
    complaints.expect("nothing of the hole", &named("/hole").is_none(), &true);
    let (before, after) = (numbers(&answer["before"])?, numbers(&answer["after"])?);
    complaints.expect("nodes", &before.len(), &2);
    for (before, after) in before.iter().zip(&after) {
        let sentence = format!("FilePages went from {before} to {after} kB: nothing is read in");
        complaints.expect(&sentence, &(after.abs_diff(*before) <= OTHERS_KIB), &true);
    }
    let found = |name: &str| -> Result<bool> {
        let document: &Value = &answer[name];
        Ok(has(&ids(document)?, "far-data-files"))
    };
    complaints.expect("far-data-files beside node 0", &found("far")?, &true);
    complaints.expect("far-data-files on both nodes", &found("near")?, &false);
    complaints.expect("far-data-files unasked", &found("unasked")?, &false);
    Ok(())
}
