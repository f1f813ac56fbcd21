//! The guest's kernel shows the shape that was asked for: its nodes, memory and distances. If it
//! did not, comparing numalab with that kernel would be worthless.

use anyhow::{Context, Result};

use super::check::{Answers, Check, Complaints, numalab, shell};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "shape",
    applies_to: |_| true,
    cgroup: CgroupVersion::V2,
    seconds: 30,
    commands: |_| {
        vec![
            // The first pool of huge pages is not empty, so that figures of pools differ.
            shell("pages", "echo 4 >/proc/sys/vm/nr_hugepages"),
            shell("kernel", SCRIPT),
            numalab("json", &["topology", "--json"]),
        ]
    },
    judge,
};

/// Prints a line for each node: id, MemTotal in kB, distances.
const SCRIPT: &str = r#"
cd /sys/devices/system/node
for id in $(ls | sed -n 's/^node\([0-9][0-9]*\)$/\1/p' | sort -n); do
    echo "$id|$(awk '$3 == "MemTotal:" { print $4 }' "node$id/meminfo")|$(cat "node$id/distance")"
done
"#;

fn judge(shape: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    answers.text("pages")?;
    let lines: Vec<_> = answers.text("kernel")?.lines().collect();
    let online = shape.online_nodes();
    complaints.expect("number of nodes", &lines.len(), &online.len());
    for (line, &from) in lines.iter().zip(&online) {
        let mut parts = line.split('|');
        let mut part = || {
            parts
                .next()
                .with_context(|| format!("a node, not {line:?}"))
        };
        complaints.expect("node", &part()?, &from.to_string().as_str());
        let has_memory = part()? != "0";
        let expected = shape.nodes[from].memory_mib().is_some();
        complaints.expect(&format!("memory of node {from}"), &has_memory, &expected);
        let distances = online
            .iter()
            .map(|&to| (shape.distance)(from, to).to_string());
        let distances = distances.collect::<Vec<_>>().join(" ");
        let what = format!("distances from node {from}");
        complaints.expect(&what, &part()?, &distances.as_str());
    }
    let document = answers.json("json")?;
    complaints.expect("emulated", &document["emulated"], &true.into());
    Ok(())
}
