//! `numalab inspect` on article 000's eight nodes: shared memory that was bound, interleaved or
//! left alone is found where the kernel's own counters say it went, the same for two processes and
//! for fifty, and the look allocates nothing.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use super::answers::Answers;
use super::check::{Check, GuestCommand, shell};
use super::complaints::Complaints;
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub const CHECK: Check = Check {
    name: "inspect",
    applies_to: |shape| shape.name == "eight-node",
    cgroup: CgroupVersion::V2,
    seconds: 420,
    commands,
    judge,
};

/// The program that makes shared memory.
pub(super) const PROGRAM: &str = include_str!("shared_memory.py");
/// Size of the segment.
const MIB: u64 = 128;

/// Shared memory that others in the guest may take or give back on a node meanwhile: one page, as
/// was seen when the first process of a boot made a memfd.
const OTHERS_BYTES: u64 = 4096;

/// One placement: its name, the words of numactl, how many processes, and the nodes expected.
struct Row {
    name: &'static str,
    numactl: &'static str,
    processes: u32,
    nodes: &'static [u64],
}

/// The placements.
const ROWS: &[Row] = &[
    Row {
        name: "membind",
        numactl: "--membind=3",
        processes: 2,
        nodes: &[3],
    },
    Row {
        name: "interleave",
        numactl: "--interleave=all",
        processes: 2,
        nodes: &[0, 1, 2, 3, 4, 5, 6, 7],
    },
    Row {
        name: "fifty",
        numactl: "--interleave=all",
        processes: 50,
        nodes: &[0, 1, 2, 3, 4, 5, 6, 7],
    },
    Row {
        name: "default",
        numactl: "--physcpubind=4",
        processes: 2,
        nodes: &[2],
    },
];

fn commands(_: &Shape) -> Vec<GuestCommand> {
    let mut commands = vec![shell(
        "program",
        &format!("cat >/tmp/shared_memory.py <<'END'\n{PROGRAM}\nEND"),
    )];
    commands.extend(ROWS.iter().map(|row| shell(row.name, &script(row))));
    commands
}

/// Shmem of every node is read before the segment exists, after, and after five looks, each time
/// after every CPU has handed in what it counted (`stat_refresh`): the kernel adds up the changes
/// of a CPU once a second, and shows a node without them until then (mm/vmstat.c). Nothing is
/// written to /tmp meanwhile, which is shared memory, too: answers are kept in variables, and the
/// program says that it is ready through a pipe.
fn script(row: &Row) -> String {
    let Row {
        numactl, processes, ..
    } = row;
    format!(
        "shmem() {{ echo 1 >/proc/sys/vm/stat_refresh; \
           awk '/Shmem:/ {{ printf \"%s%s\", s, $4; s = \",\" }}' \
           /sys/devices/system/node/node*/meminfo; }}
         rm -f /tmp/ready; mkfifo /tmp/ready; before=$(shmem)
         numactl {numactl} /usr/bin/python3 /tmp/shared_memory.py {MIB} {processes} memfd \
           /tmp/ready >/dev/null 2>&1 &
         pid=$(cat /tmp/ready); during=$(shmem)
         for look in 1 2 3 4; do numalab inspect $pid --json >/dev/null; done
         residency=$(numalab inspect $pid --json); status=$?; after=$(shmem)
         bound=$(numalab inspect $pid --numa-maps --json)
         kill -- $(ps -o pid= --ppid $pid) $pid
         echo \"{{\\\"before\\\":[$before],\\\"during\\\":[$during],\\\"after\\\":[$after],\
           \\\"status\\\":$status,\\\"residency\\\":$residency,\\\"bound\\\":$bound}}\"
         while [ \"$(shmem)\" != \"$before\" ] && [ $((n += 1)) -lt 50 ]; do sleep 0.1; done"
    )
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    for row in ROWS {
        let what = |part: &str| format!("{}: {part}", row.name);
        let answer = answers.json(row.name)?;
        complaints.expect(&what("status"), &answer["status"], &0.into());
        complaints.expect(
            &what("Shmem by node after the looks"),
            &answer["after"],
            &answer["during"],
        );
        let (before, during) = (kib(&answer["before"])?, kib(&answer["during"])?);
        let residency = &answer["residency"];
        complaints.expect(&what("method"), &residency["method"], &"pagemap".into());
        let segment = segment(residency)?;
        let found = bytes_by_node(segment);
        for (node, (before, during)) in before.iter().zip(&during).enumerate() {
            let grown = during.saturating_sub(*before) * 1024;
            let bytes = found.get(&(node as u64)).copied().unwrap_or(0);
            let agree = grown.abs_diff(bytes) <= OTHERS_BYTES;
            let sentence = format!("node {node}: Shmem grew by {grown}, found {bytes}: they agree");
            complaints.expect(&what(&sentence), &agree, &true);
        }
        let nodes: Vec<u64> = found.keys().copied().collect();
        complaints.expect(&what("nodes"), &nodes, &row.nodes.to_vec());
        let total: u64 = found.values().sum();
        complaints.expect(&what("bytes"), &total, &(MIB << 20));
        complaints.expect(&what("complete"), &segment["complete"], &true.into());
        complaints.expect(
            &what("processes"),
            &segment["processes"],
            &row.processes.into(),
        );
        let bound = &answer["bound"];
        complaints.expect(
            &what("numa_maps is no exact method"),
            &bound["complete"],
            &false.into(),
        );
        let lower: u64 = bytes_by_node(self::segment(bound)?).values().sum();
        complaints.expect(&what("numa_maps gives no more"), &(lower <= total), &true);
    }
    Ok(())
}

/// The segment of the program.
pub(super) fn segment(residency: &Value) -> Result<&Value> {
    let mut segments = residency["segments"].as_array().into_iter().flatten();
    let is_ours = |segment: &&Value| {
        let name = segment["name"].as_str().unwrap_or("");
        name.starts_with("/memfd:numalab-check") || name.starts_with("/dev/shm/")
    };
    segments
        .find(is_ours)
        .with_context(|| format!("no segment of ours in {residency}"))
}

fn bytes_by_node(segment: &Value) -> BTreeMap<u64, u64> {
    let nodes = segment["bytes_by_node"].as_object().into_iter().flatten();
    nodes
        .filter_map(|(node, bytes)| Some((node.parse().ok()?, bytes.as_u64()?)))
        .collect()
}

fn kib(figures: &Value) -> Result<Vec<u64>> {
    let figures = figures.as_array().context("a list of figures")?;
    figures
        .iter()
        .map(|kib| kib.as_u64().context("a figure in kB"))
        .collect()
}
