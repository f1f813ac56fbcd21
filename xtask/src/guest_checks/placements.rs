//! Every backing, page size, allocation and mechanism of the instance on four nodes, with groups of
//! cgroup v2 and of v1: while a case is held up, the kernel has its memory, CPUs and nodes as
//! requested; and the evidence of every trial agrees.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use super::check::{Answers, Check, Complaints, GuestCommand, numalab, shell};
use super::held::{self, Held};
use super::numa_maps::{Expected, Line, ids};
use super::run_document::{case, sga_bytes, valid_trials};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check with groups of cgroup v2.
pub(super) const CHECK_V2: Check = Check {
    name: "placements",
    applies_to: |shape| shape.name == "four-node-ring",
    cgroup: CgroupVersion::V2,
    seconds: 420,
    commands,
    judge: |_, answers, complaints| judge(2, answers, complaints),
};

/// The check with groups of cgroup v1.
pub(super) const CHECK_V1: Check = Check {
    name: "placements-v1",
    cgroup: CgroupVersion::V1,
    judge: |_, answers, complaints| judge(1, answers, complaints),
    ..CHECK_V2
};

/// One case: its name, its settings in the file, and what must be seen.
struct Row {
    name: &'static str,
    settings: &'static str,
    page_bytes: u64,
    policy: &'static str,
    nodes: &'static [u64],
    /// The CPUs that processes may use, and the nodes, as the kernel lists them.
    allowed: (&'static str, &'static str),
    /// Whether a processor group carries the placement.
    group: bool,
}

const HUGE: u64 = 2 << 20;
/// The nodes of the shape.
const NODES: u64 = 4;
/// Size of the buffers of each case.
const CACHE_BYTES: u64 = 16 << 20;

/// The cases.
const ROWS: &[Row] = &[
    Row {
        name: "sysv-huge-interleave",
        settings: r#"backing = "sysv"
page-size = "2MiB"
allocation = "interleave:all"
mechanism = "group"
cpus = "0-3"
memory-nodes = "all""#,
        page_bytes: HUGE,
        policy: "interleave:0-3",
        nodes: &[0, 1, 2, 3],
        allowed: ("0-3", "0-3"),
        group: true,
    },
    Row {
        name: "memfd-huge-bind",
        settings: r#"page-size = "2MiB"
allocation = "bind:3"
mechanism = "group"
cpus = "0-1"
memory-nodes = "3""#,
        page_bytes: HUGE,
        policy: "bind:3",
        nodes: &[3],
        allowed: ("0-1", "3"),
        group: true,
    },
    Row {
        name: "memfd-group-default",
        settings: r#"mechanism = "group"
cpus = "0-1"
memory-nodes = "2""#,
        page_bytes: 4096,
        policy: "default",
        nodes: &[2],
        allowed: ("0-1", "2"),
        group: true,
    },
    Row {
        name: "sysv-affinity-interleave",
        settings: r#"backing = "sysv"
allocation = "interleave:1,3"
mechanism = "affinity"
cpus = "2-3""#,
        page_bytes: 4096,
        policy: "interleave:1,3",
        nodes: &[1, 3],
        allowed: ("2-3", "0-3"),
        group: false,
    },
    Row {
        name: "memfd-affinity-bind",
        settings: r#"allocation = "bind:1"
mechanism = "affinity"
cpus = "0"
memory-nodes = "1""#,
        page_bytes: 4096,
        policy: "bind:1",
        nodes: &[1],
        allowed: ("0", "0-3"),
        group: false,
    },
    Row {
        name: "sysv-huge-default",
        settings: r#"backing = "sysv"
page-size = "2MiB"
mechanism = "affinity"
cpus = "4""#,
        page_bytes: HUGE,
        policy: "default",
        nodes: &[2],
        allowed: ("4", "0-3"),
        group: false,
    },
];

fn commands(_: &Shape) -> Vec<GuestCommand> {
    let names: Vec<String> = ROWS.iter().map(|row| row.name.to_owned()).collect();
    let pools = "for pool in /sys/devices/system/node/node*/hugepages/hugepages-2048kB; do \
                 echo 24 >$pool/nr_hugepages; cat $pool/nr_hugepages; done";
    vec![
        shell("pools", pools),
        shell(
            "file",
            &format!("cat >/tmp/placements.toml <<'END'\n{}\nEND", experiment()),
        ),
        numalab(
            "run",
            &[
                "run",
                "/tmp/placements.toml",
                "--json",
                "--trials",
                "5",
                "--seconds",
                "0.2",
            ],
        ),
        shell("held", &held::script("/tmp/placements.toml", &names)),
        shell("groups after", "find /sys/fs/cgroup -name 'numalab*'"),
        shell(
            "pools after",
            "cat /sys/devices/system/node/node*/hugepages/hugepages-2048kB/free_hugepages",
        ),
        shell("segments after", "tail -n +2 /proc/sysvipc/shm"),
        numalab("in force", &["undo", "--list"]),
    ]
}

/// Returns the experiment file.
fn experiment() -> String {
    let mut text = format!(
        r#"format = "numalab.experiment/1"
name = "placements"
question = "Is every placement honoured?"
baseline = "{}"
asks-about-memory = true

[sga]
cache = "16MiB"

[load]
sessions = 1
"#,
        ROWS[0].name
    );
    for Row { name, settings, .. } in ROWS {
        text.push_str(&format!(
            "\n[[case]]\nname = \"{name}\"\nabout = \"One placement.\"\n"
        ));
        text.push_str(settings);
        text.push('\n');
    }
    text
}

fn judge(version: u64, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    complaints.expect("pools", &answers.text("pools")?, &"24\n24\n24\n24\n");
    let run = answers.json("run")?;
    let skipped = run["skipped"].as_array().cloned().unwrap_or_default();
    complaints.expect("skipped cases", &skipped, &Vec::<Value>::new());
    let held = held::parse(answers.text("held")?)?;
    complaints.expect("cases held", &held.len(), &ROWS.len());
    for (row, held) in ROWS.iter().zip(&held) {
        kernel_agrees(row, held, complaints)?;
    }
    for row in ROWS {
        for trial in valid_trials(case(&run, row.name)?, complaints) {
            compare(row, version, trial, complaints);
        }
    }
    complaints.expect("groups left", &answers.text("groups after")?, &"");
    complaints.expect("segments left", &answers.text("segments after")?, &"");
    complaints.expect(
        "free pages after",
        &answers.text("pools after")?,
        &"24\n24\n24\n24\n",
    );
    complaints.expect(
        "in force",
        &answers.text("in force")?,
        &"no changes in force\n",
    );
    Ok(())
}

/// Checks what the kernel says about the processes of a case.
fn kernel_agrees(row: &Row, held: &Held, complaints: &mut Complaints) -> Result<()> {
    let what = |part: &str| format!("{}, by the kernel: {part}", row.name);
    let sga = held.sga();
    let found: Vec<Expected> = sga.iter().map(|line| line.found(NODES)).collect();
    let expected = Expected {
        policy: row.policy.to_owned(),
        nodes: row.nodes.to_vec(),
    };
    complaints.expect(&what("policy and nodes"), &found, &vec![expected]);
    let bytes: u64 = sga.iter().map(Line::bytes).sum();
    complaints.expect(&what("all of the cache"), &(bytes >= CACHE_BYTES), &true);
    for line in &sga {
        complaints.expect(&what("page size"), &line.page_bytes, &row.page_bytes);
        let (least, most) = (line.pages.values().min(), line.pages.values().max());
        let spread = most.unwrap_or(&0) - least.unwrap_or(&0);
        complaints.expect(&what("even to a page"), &(spread <= 1), &true);
    }
    let (cpus, nodes) = (ids(row.allowed.0)?, ids(row.allowed.1)?);
    complaints.expect(&what("some sessions"), &held.sessions().is_empty(), &false);
    for session in held.sessions() {
        complaints.expect(&what("CPUs allowed"), &session.cpus, &cpus);
        complaints.expect(&what("nodes allowed"), &session.memory_nodes, &nodes);
    }
    Ok(())
}

fn compare(row: &Row, version: u64, trial: &Value, complaints: &mut Complaints) {
    let what = |part: &str| format!("{}: {part}", row.name);
    let evidence = &trial["evidence"];
    let sga = &evidence["sga"];
    complaints.expect(
        &what("page size"),
        &sga["page_bytes"],
        &row.page_bytes.into(),
    );
    complaints.expect(&what("policy"), &sga["policy"], &row.policy.into());
    let before = sga_bytes(trial, "bytes_by_node_before");
    complaints.expect(
        &what("after"),
        &sga_bytes(trial, "bytes_by_node_after"),
        &before,
    );
    let nodes: Vec<u64> = before.keys().copied().collect();
    complaints.expect(&what("nodes"), &nodes, &row.nodes.to_vec());
    let (least, most) = (before.values().min(), before.values().max());
    let spread = most.unwrap_or(&0) - least.unwrap_or(&0);
    complaints.expect(&what("even to a page"), &(spread <= row.page_bytes), &true);
    let group = &evidence["group"]["cgroup_version"];
    let expected = if row.group {
        version.into()
    } else {
        Value::Null
    };
    complaints.expect(&what("cgroup version"), group, &expected);
    if row.page_bytes == HUGE {
        // The kernel counts the pools, independently of the pages that numalab asked about.
        let taken = pages_taken(evidence);
        let pages: BTreeMap<u64, u64> = before
            .iter()
            .map(|(node, bytes)| (*node, bytes / row.page_bytes))
            .collect();
        complaints.expect(&what("pages taken from the pools"), &taken, &pages);
    }
}

/// Returns the huge pages that left each node's pool when the SGA was created.
fn pages_taken(evidence: &Value) -> BTreeMap<u64, u64> {
    let free = |when: &str| -> BTreeMap<u64, u64> {
        let pools = evidence[when].as_array().into_iter().flatten();
        let pools = pools.filter(|pool| pool["page_bytes"] == HUGE);
        pools
            .filter_map(|pool| Some((pool["node"].as_u64()?, pool["free"].as_u64()?)))
            .collect()
    };
    let during = free("huge_pages_during");
    let before = free("huge_pages_before").into_iter();
    let taken = before.map(|(node, free)| (node, free - during.get(&node).unwrap_or(&free)));
    taken.filter(|(_, pages)| *pages > 0).collect()
}
