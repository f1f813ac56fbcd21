//! `numalab inspect` on article 000's eight nodes: shared memory that was bound, interleaved or
//! left alone is found where the kernel's own counters say it went, the same for two processes and
//! for fifty, and the inspection allocates nothing.

use anyhow::{Context, Result};
use serde_json::Value;

use super::check::{Answers, Check, Complaints, GuestCommand, shell};
use super::look::{FUNCTIONS, Look, bytes_by_node};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "inspect",
    applies_to: |shape| shape.name == "eight-node",
    cgroup: CgroupVersion::V2,
    seconds: 420,
    commands,
    judge,
};

/// The program that creates shared memory.
pub(super) const PROGRAM: &str = include_str!("shared_memory.py");
/// Size of the segment.
const MIB: u64 = 128;

/// Shared memory that other processes of the guest may allocate or free on a node meanwhile: one
/// page, as seen when the first process of a boot created a memfd.
pub(super) const OTHERS_BYTES: u64 = 4096;

/// One placement: its name, the options of numactl, the number of processes, and the expected
/// nodes.
struct Row {
    name: &'static str,
    numactl: &'static str,
    processes: usize,
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

/// Returns a script that reads Shmem of every node before the segment exists, and around the
/// inspections. Nothing is written to /tmp meanwhile, which is shared memory, too: answers are kept
/// in variables, and the program says through a pipe that it is ready.
fn script(row: &Row) -> String {
    let Row {
        numactl, processes, ..
    } = row;
    format!(
        "{FUNCTIONS}
         rm -f /tmp/ready; mkfifo /tmp/ready; before=$(state)
         numactl {numactl} /usr/bin/python3 /tmp/shared_memory.py {MIB} {processes} memfd \
           /tmp/ready >/dev/null 2>&1 &
         pid=$(cat /tmp/ready)
         echo \"{{\\\"before\\\":{{$before}},\"
         look first $pid; echo ,; look second $pid
         echo \",\\\"bound\\\":$(numalab inspect $pid --numa-maps --json)}}\"
         end_family $pid"
    )
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    for row in ROWS {
        let answer = answers.json(row.name)?;
        for name in ["first", "second"] {
            let look = Look::new(row.name, name, &answer);
            look.judge(&answer["before"], OTHERS_BYTES, complaints)?;
            look.judge_processes(row.processes, complaints);
            judge_segment(row, &look, complaints)?;
        }
        let bound = &answer["bound"];
        let what = |part: &str| format!("{}: {part}", row.name);
        complaints.expect(
            &what("numa_maps is no exact method"),
            &bound["complete"],
            &false.into(),
        );
        let lower: u64 = bytes_by_node(segment(bound)?).values().sum();
        complaints.expect(
            &what("numa_maps gives no more"),
            &(lower <= MIB << 20),
            &true,
        );
    }
    Ok(())
}

/// Checks that the whole segment is there, on the nodes of the row.
fn judge_segment(row: &Row, look: &Look, complaints: &mut Complaints) -> Result<()> {
    let segment = segment(look.residency())?;
    let found = bytes_by_node(segment);
    let nodes: Vec<u64> = found.keys().copied().collect();
    complaints.expect(&look.what("nodes"), &nodes, &row.nodes.to_vec());
    let total: u64 = found.values().sum();
    complaints.expect(&look.what("bytes"), &total, &(MIB << 20));
    complaints.expect(&look.what("complete"), &segment["complete"], &true.into());
    let processes = &segment["processes"];
    complaints.expect(&look.what("attached"), processes, &row.processes.into());
    Ok(())
}

/// Returns the segment of the program.
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
