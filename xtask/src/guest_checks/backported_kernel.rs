//! A guest with the kernel of Debian's backports runs that kernel, which has what 6.1 lacks, and it
//! shows the shape that was asked for. numalab agrees with it, and what depends on the kernel's
//! events holds there, too.

use anyhow::{Context, Result};

use super::check::{Answers, Check, Complaints, numalab, shell};
use super::tests_of_binary;
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "backported-kernel",
    applies_to: |shape| shape.name == "two-node",
    cgroup: CgroupVersion::V2,
    seconds: 90,
    commands: |shape| {
        vec![
            shell("release", "uname -r"),
            shell("distances", "cat /sys/devices/system/node/node*/distance"),
            // Linux 6.9 and later.
            shell(
                "weights",
                "cat /sys/kernel/mm/mempolicy/weighted_interleave/node*",
            ),
            numalab("json", &["topology", "--json"]),
            tests_of_binary::command(shape, &MODULES),
        ]
    },
    judge,
};

/// Tests of the binary that read the kernel's events.
const MODULES: [&str; 1] = ["first_touch_by_node"];

fn judge(shape: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let release = answers.text("release")?.trim();
    let version = version(release).with_context(|| format!("not a kernel release: {release:?}"))?;
    if version < (6, 9) {
        complaints.add(format!(
            "the guest runs the kernel {release}, not a newer one"
        ));
    }
    let online = shape.online_nodes();
    let row = |&from: &usize| {
        let row = online
            .iter()
            .map(|&to| (shape.distance)(from, to).to_string());
        row.collect::<Vec<_>>().join(" ")
    };
    let rows: Vec<_> = online.iter().map(row).collect();
    complaints.expect_lines("distances", answers.text("distances")?, &rows.join("\n"));
    let weights = answers.text("weights")?.lines().count();
    complaints.expect("nodes with a weight", &weights, &online.len());
    let document = answers.json("json")?;
    let nodes = document["nodes"].as_array().map(Vec::len);
    complaints.expect("nodes of topology", &nodes, &Some(online.len()));
    tests_of_binary::judge_modules(&MODULES, answers, complaints)
}

/// `6.12.95+deb12-amd64` is version 6.12.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|byte: char| !byte.is_ascii_digit());
    let mut number = || numbers.next()?.parse().ok();
    Some((number()?, number()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_begins_with_its_version() {
        assert_eq!(version("6.12.95+deb12-amd64"), Some((6, 12)));
        assert_eq!(version("6.1.0-56-amd64"), Some((6, 1)));
        assert_eq!(version("linux"), None);
    }
}
