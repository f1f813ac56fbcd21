//! `numalab inspect` on article 000's eight nodes: the embedded instance under three placements,
//! huge pages of a pool, and a sample of a large segment. The results agree with the kernel's
//! counters of each node.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use super::check::{Answers, Check, Complaints, GuestCommand, shell};
use super::inspect::{OTHERS_BYTES, PROGRAM, segment};
use super::look::{FUNCTIONS, Look, bytes_by_node, numbers};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "inspect-instances",
    applies_to: |shape| shape.name == "eight-node",
    cgroup: CgroupVersion::V2,
    seconds: 600,
    commands,
    judge,
};

/// Number of pages of the pool on each node, and bytes of one.
const HUGE_PAGES: u64 = 12;
const HUGE_BYTES: u64 = 2 << 20;

/// Numbers of sessions of the embedded instance.
const SESSIONS: [usize; 2] = [2, 49];

/// All nodes.
pub(super) const ALL: &[u64] = &[0, 1, 2, 3, 4, 5, 6, 7];

/// Cases of the embedded instance: the name, the settings, the nodes.
const CASES: &[(&str, &str, &[u64])] = &[
    (
        "embedded-bound",
        "allocation = \"bind:3\"\nmechanism = \"affinity\"\ncpus = \"0\"\nmemory-nodes = \"3\"",
        &[3],
    ),
    (
        "embedded-interleaved",
        "allocation = \"interleave:all\"\nmechanism = \"affinity\"\ncpus = \"0\"",
        ALL,
    ),
    (
        "embedded-without-policy",
        "mechanism = \"affinity\"\ncpus = \"4\"",
        &[2],
    ),
];

/// Prints the free pages of the pool by node.
const POOL: &str = r#"
pool() {
  cat /sys/devices/system/node/node*/hugepages/hugepages-2048kB/free_hugepages | paste -sd,
}
"#;

fn script(text: &str) -> String {
    format!("{FUNCTIONS}\n{POOL}\n{text}")
}

fn commands(_: &Shape) -> Vec<GuestCommand> {
    let mut commands = vec![
        shell(
            "instances: program",
            &format!("cat >/tmp/shared_memory.py <<'END'\n{PROGRAM}\nEND"),
        ),
        shell("huge pages", &script(&huge_pages())),
        shell("sample", &script(SAMPLE)),
    ];
    commands.extend(
        CASES
            .iter()
            .map(|(name, ..)| shell(name, &script(&embedded(name)))),
    );
    commands
}

fn huge_pages() -> String {
    format!(
        "for pool in /sys/devices/system/node/node*/hugepages/hugepages-2048kB; do
           echo {HUGE_PAGES} >$pool/nr_hugepages
         done
         rm -f /tmp/ready; mkfifo /tmp/ready; before=$(pool)
         numactl --interleave=all /usr/bin/python3 /tmp/shared_memory.py 64 2 memfd-huge \
           /tmp/ready >/dev/null 2>&1 &
         pid=$(cat /tmp/ready); during=$(pool)
         residency=$(numalab inspect $pid --json); after=$(pool)
         end_family $pid
         for pool in /sys/devices/system/node/node*/hugepages/hugepages-2048kB; do
           echo 0 >$pool/nr_hugepages
         done
         echo \"{{\\\"before\\\":[$before],\\\"during\\\":[$during],\\\"after\\\":[$after],\"
         echo \"\\\"residency\\\":$residency}}\""
    )
}

const SAMPLE: &str = r#"
rm -f /tmp/ready; mkfifo /tmp/ready
before=$(state)
numactl --interleave=all /usr/bin/python3 /tmp/shared_memory.py 128 2 memfd /tmp/ready \
  >/dev/null 2>&1 &
pid=$(cat /tmp/ready); during=$(state)
sampled=$(numalab inspect $pid --sample --json); after=$(state)
echo "{\"before\":{$before},\"during\":{$during},\"after\":{$after},\"sampled\":$sampled,"
look exact $pid; echo }
end_family $pid"#;

fn experiment(sessions: usize) -> String {
    let mut text = format!(
        "format = \"numalab.experiment/1\"\nname = \"held\"\nquestion = \"Where is it?\"\n\
         baseline = \"{}\"\nasks-about-memory = true\n\n[sga]\ncache = \"16MiB\"\n\n[load]\n\
         sessions = {sessions}\n",
        CASES[0].0
    );
    for (name, settings, _) in CASES {
        text += &format!("\n[[case]]\nname = \"{name}\"\nabout = \"One placement.\"\n{settings}\n");
    }
    text
}

fn embedded(case: &str) -> String {
    let looks = SESSIONS.map(|sessions| {
        format!(
            "cat >$ram/held.toml <<'END'\n{}\nEND
             rm -f $ram/hold; mkfifo $ram/hold; before=$(state)
             numalab run $ram/held.toml --hold {case} --idle --json >$ram/hold 2>$ram/said &
             run=$!; held=$(sed '/^}}/q' $ram/hold)
             pid=$(echo \"$held\" | sed -n 's/.*\"instance_pid\": \\([0-9]*\\).*/\\1/p')
             [ -n \"$pid\" ] || {{ cat $ram/said >&2; exit 1; }}
             echo \"\\\"before {sessions}\\\":{{$before}},\"; look '{sessions} sessions' $pid
             kill -TERM $run; wait $run",
            experiment(sessions)
        )
    });
    format!(
        "numalab list >/dev/null; echo {{\n{}\necho }}",
        looks.join("\necho ,\n")
    )
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    judge_huge_pages(&answers.json("huge pages")?, complaints)?;
    judge_sample(&answers.json("sample")?, complaints)?;
    for (name, _, nodes) in CASES {
        judge_instance(name, &answers.json(name)?, nodes, complaints)?;
    }
    Ok(())
}

/// Checks that the shared memory found is what Shmem of each node grew by, on the nodes of the
/// case.
fn judge_instance(
    name: &str,
    answer: &Value,
    nodes: &[u64],
    complaints: &mut Complaints,
) -> Result<()> {
    for sessions in SESSIONS {
        let look = Look::new(name, &format!("{sessions} sessions"), answer);
        let before = &answer[format!("before {sessions}")];
        look.judge(before, OTHERS_BYTES, complaints)?;
        // The instance itself is one more.
        look.judge_processes(sessions + 1, complaints);
        let found = look.shared_memory()?;
        let total: u64 = found.values().sum();
        let there: u64 = nodes.iter().filter_map(|node| found.get(node)).sum();
        let sentence = format!("of {total} bytes {there} are on nodes {nodes:?}: 90 % at least");
        complaints.expect(&look.what(&sentence), &(there >= total / 10 * 9), &true);
        complaints.expect(&look.what("16 MiB at least"), &(total >= 16 << 20), &true);
    }
    Ok(())
}

fn judge_huge_pages(answer: &Value, complaints: &mut Complaints) -> Result<()> {
    let (before, during) = (numbers(&answer["before"])?, numbers(&answer["during"])?);
    complaints.expect("huge pages: the pool", &before, &vec![HUGE_PAGES; 8]);
    complaints.expect(
        "huge pages: free after the look",
        &answer["after"],
        &answer["during"],
    );
    let segment = segment(&answer["residency"])?;
    complaints.expect(
        "huge pages: size",
        &segment["page_bytes"],
        &HUGE_BYTES.into(),
    );
    complaints.expect("huge pages: complete", &segment["complete"], &true.into());
    complaints.expect(
        "huge pages: policy",
        &segment["policy"],
        &"interleave:0-7".into(),
    );
    let found = bytes_by_node(segment);
    let taken = before
        .iter()
        .zip(&during)
        .enumerate()
        .map(|(node, (before, during))| (node as u64, before.saturating_sub(*during) * HUGE_BYTES));
    let taken: BTreeMap<u64, u64> = taken.filter(|(_, bytes)| *bytes > 0).collect();
    complaints.expect("huge pages: found as taken from the pools", &found, &taken);
    let sum: u64 = found.values().sum();
    complaints.expect("huge pages: bytes", &sum, &(64 << 20));
    Ok(())
}

/// Judges the sample. Its pages are chosen from a fixed seed and the layout is regular, so the
/// outcome is always the same; of eight intervals of 95 % each, two may miss.
fn judge_sample(answer: &Value, complaints: &mut Complaints) -> Result<()> {
    complaints.expect(
        "sample: Shmem after it",
        &answer["after"]["shmem"],
        &answer["during"]["shmem"],
    );
    let look = Look::new("sample", "exact", answer);
    look.judge(&answer["before"], OTHERS_BYTES, complaints)?;
    let sampled = &answer["sampled"];
    complaints.expect(
        "sample: method",
        &sampled["method"],
        &"pagemap-sampled".into(),
    );
    complaints.expect("sample: complete", &sampled["complete"], &false.into());
    let exact = bytes_by_node(segment(look.residency())?);
    let segment = segment(sampled)?;
    let shares = segment["sampled"]["share_by_node"]
        .as_object()
        .context("shares by node")?;
    let total: u64 = exact.values().sum();
    let covered = shares.iter().filter(|(node, share)| {
        let node = node.parse().ok().and_then(|node: u64| exact.get(&node));
        let part = *node.unwrap_or(&0) as f64 / total as f64;
        let end = |key: &str| share[key].as_f64().unwrap_or(f64::NAN);
        end("low") <= part && part <= end("high")
    });
    let covered = covered.count();
    let sentence = format!(
        "sample: {covered} of {} intervals cover the truth",
        shares.len()
    );
    complaints.expect(&sentence, &(covered >= 6 && shares.len() == 8), &true);
    let estimated: u64 = bytes_by_node(segment).values().sum();
    complaints.expect("sample: bytes", &estimated, &total);
    Ok(())
}
