//! Where the kernel puts every backing with every allocation, small pages and huge, on four nodes
//! and on thirty-two: an instance is held up for each, and numa_maps, the kernel's own account, has
//! what the kernel's rules say. And what a parallel worker reads with stealing off is local.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::answers::Answers;
use super::check::{Check, GuestCommand, numalab, shell};
use super::complaints::Complaints;
use super::run_document::{case, valid_trials};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub const CHECK: Check = Check {
    name: "residency",
    applies_to: |shape| ["four-node-ring", "thirty-two-node"].contains(&shape.name),
    cgroup: CgroupVersion::V2,
    seconds: 400,
    commands,
    judge,
};

const HUGE: u64 = 2 << 20;
/// Huge pages in the pool of every node.
const POOL_PAGES: u64 = 12;

/// What is asked of the kernel in one case.
struct Asked {
    backing: &'static str,
    page_bytes: u64,
    allocation: Allocation,
}

#[derive(Clone, Copy)]
enum Allocation {
    OsDefault,
    Interleave,
    Bind,
    Prefer,
    PerNode,
}

impl Allocation {
    const ALL: [Allocation; 5] = [
        Allocation::OsDefault,
        Allocation::Interleave,
        Allocation::Bind,
        Allocation::Prefer,
        Allocation::PerNode,
    ];

    /// The word of an experiment file.
    fn word(self, nodes: u64) -> String {
        match self {
            Allocation::OsDefault => "os-default".to_owned(),
            Allocation::Interleave => "interleave:all".to_owned(),
            Allocation::Bind => format!("bind:{}", nodes - 2),
            Allocation::Prefer => format!("prefer:{}", nodes - 1),
            Allocation::PerNode => "per-node:all".to_owned(),
        }
    }

    /// The parts of the SGA that have a policy of their own, in the order of their addresses.
    fn parts(self, nodes: u64) -> Vec<Expected> {
        let everywhere = || Expected {
            policy: format!("interleave:0-{}", nodes - 1),
            nodes: (0..nodes).collect(),
        };
        let on = |policy: &str, node: u64| Expected {
            policy: policy.replace('N', &node.to_string()),
            nodes: vec![node],
        };
        match self {
            // Memory lies where the CPU ran that first touched it: that of the file.
            Allocation::OsDefault => vec![on("default", HOME)],
            Allocation::Interleave => vec![everywhere()],
            Allocation::Bind => vec![on("bind:N", nodes - 2)],
            Allocation::Prefer => vec![on("prefer:N", nodes - 1)],
            Allocation::PerNode => {
                let pools = (0..nodes).map(|node| on("prefer:N", node));
                std::iter::once(everywhere()).chain(pools).collect()
            }
        }
    }
}

/// The node whose CPU all processes run on.
const HOME: u64 = 1;

/// What one line of numa_maps must say.
#[derive(Debug, PartialEq, Eq)]
struct Expected {
    policy: String,
    nodes: Vec<u64>,
}

/// Every case. Thirty-two emulated CPUs take turns on one of the host's, so there are fewer.
fn asked(nodes: u64) -> impl Iterator<Item = Asked> {
    let memory: &[(&str, u64)] = match nodes {
        32 => &[("sysv", HUGE), ("memfd", 4096)],
        _ => &[
            ("memfd", 4096),
            ("sysv", 4096),
            ("shm", 4096),
            ("memfd", HUGE),
            ("sysv", HUGE),
        ],
    };
    memory.iter().flat_map(|&(backing, page_bytes)| {
        Allocation::ALL.map(|allocation| Asked {
            backing,
            page_bytes,
            allocation,
        })
    })
}

impl Asked {
    fn name(&self, nodes: u64) -> String {
        let allocation = self.allocation.word(nodes).replace(':', "-");
        let pages = if self.page_bytes == HUGE { "-huge" } else { "" };
        format!("{}{pages}-{allocation}", self.backing)
    }

    /// MiB of buffers: a pool has whole pages, and a table has four blocks.
    fn cache_mebibytes(&self, nodes: u64) -> u64 {
        match (self.allocation, self.page_bytes) {
            (Allocation::PerNode, HUGE) => 2 * nodes,
            _ => 4,
        }
    }

    fn case(&self, nodes: u64) -> String {
        let page_size = if self.page_bytes == HUGE {
            "2MiB"
        } else {
            "4KiB"
        };
        format!(
            "\n[[case]]\nname = \"{}\"\nabout = \"One residency.\"\nbacking = \"{}\"\n\
             page-size = \"{page_size}\"\nallocation = \"{}\"\ncache = \"{}MiB\"\n",
            self.name(nodes),
            self.backing,
            self.allocation.word(nodes),
            self.cache_mebibytes(nodes),
        )
    }
}

fn nodes_of(shape: &Shape) -> u64 {
    shape.nodes.len() as u64
}

fn commands(shape: &Shape) -> Vec<GuestCommand> {
    let nodes = nodes_of(shape);
    let pools = format!(
        "for pool in /sys/devices/system/node/node*/hugepages/hugepages-2048kB; do \
         echo {POOL_PAGES} >$pool/nr_hugepages; done; \
         cat /sys/devices/system/node/node*/hugepages/hugepages-2048kB/free_hugepages | uniq"
    );
    let file = |name: &'static str, text: String| {
        shell(name, &format!("cat >/tmp/{name}.toml <<'END'\n{text}\nEND"))
    };
    let mut commands = vec![
        shell("residency pools", &pools),
        file("residency", experiment(shape)),
        shell("maps", &hold_each(nodes)),
        numalab(
            "too large",
            &["run", "/tmp/residency.toml", "--hold", "too-large"],
        ),
        shell(
            "residency free pages",
            "cat /sys/devices/system/node/node*/hugepages/hugepages-2048kB/free_hugepages | uniq",
        ),
    ];
    if scans(shape) {
        commands.push(file("local-scan", scan_experiment(shape)));
        commands.push(numalab(
            "scan",
            &[
                "run",
                "/tmp/local-scan.toml",
                "--json",
                "--trials",
                "5",
                "--seconds",
                "0.1",
            ],
        ));
    }
    commands
}

/// Thirty-two emulated CPUs take turns on one of the host's: too slow for as many workers.
fn scans(shape: &Shape) -> bool {
    shape.name == "four-node-ring"
}

/// Holds an instance up for each case, and shows the kernel's account of its SGA.
fn hold_each(nodes: u64) -> String {
    let names: Vec<String> = asked(nodes).map(|asked| asked.name(nodes)).collect();
    format!(
        r#"for name in {}; do
echo "case $name"
numalab run /tmp/residency.toml --hold $name --idle --json >/tmp/held 2>/tmp/said & pid=$!
until grep -q session_pids /tmp/held || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
instance=$(grep -o '"instance_pid": *[0-9]*' /tmp/held | grep -o '[0-9]*$')
grep -E 'numalab-sga|/SYSV|/dev/shm/' /proc/${{instance:-none}}/numa_maps || cat /tmp/said
kill -INT $pid; wait $pid; echo "ended $?"
done"#,
        names.join(" ")
    )
}

/// CPUs of the first shared key of both files: where every page is touched first.
fn experiment(shape: &Shape) -> String {
    let nodes = nodes_of(shape);
    let cpu = HOME * u64::from(shape.cores * shape.threads);
    let first = asked(nodes).next().map(|asked| asked.name(nodes));
    let mut text = format!(
        r#"format = "numalab.experiment/1"
name = "residency"
question = "Where does the kernel put it?"
baseline = "{}"
asks-about-memory = true

[placement]
mechanism = "affinity"
cpus = "{cpu}"

[load]
sessions = 1
"#,
        first.unwrap_or_default()
    );
    asked(nodes).for_each(|asked| text.push_str(&asked.case(nodes)));
    // More than the pool of the one node has, though not more than all pools have together.
    text.push_str(&format!(
        "\n[[case]]\nname = \"too-large\"\nabout = \"More than the pool has.\"\n\
         page-size = \"2MiB\"\nallocation = \"bind:0\"\ncache = \"{}MiB\"\n",
        2 * POOL_PAGES + 2
    ));
    text
}

/// As many workers as nodes.
fn scan_experiment(shape: &Shape) -> String {
    format!(
        r#"format = "numalab.experiment/1"
name = "local-scan"
question = "Does every worker read what is near?"
baseline = "off"
asks-about-memory = true

[sga]
cache = "8MiB"
allocation = "per-node:all"

[load]
work = "parallel-scan"
sessions = {}

[[case]]
name = "off"
about = "Every worker its own granules only."
stealing = "off"
"#,
        nodes_of(shape)
    )
}

fn judge(shape: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let nodes = nodes_of(shape);
    let pool = format!("{POOL_PAGES}\n");
    complaints.expect("pools", &answers.text("residency pools")?, &pool.as_str());
    let maps = answers.text("maps")?;
    let mut held = maps.split("case ").skip(1);
    for asked in asked(nodes) {
        let name = asked.name(nodes);
        let text = held
            .next()
            .with_context(|| format!("{name} was not held"))?;
        let text = text.strip_prefix(&name).context(text.to_owned())?;
        compare(&asked, nodes, text, complaints).context(name)?;
    }
    if scans(shape) {
        for trial in valid_trials(case(&answers.json("scan")?, "off")?, complaints) {
            local_reads(nodes, trial, complaints);
        }
    }
    let refused = answers.outcome("too large")?;
    let said = String::from_utf8_lossy(&refused.stderr);
    let names_the_pool = said.contains("free pages of 2 MiB") && said.contains("node 0");
    complaints.expect(
        &format!("more than the pool of a node has, refused: {said}"),
        &(refused.status, names_the_pool),
        &(3, true),
    );
    complaints.expect(
        "free pages after",
        &answers.text("residency free pages")?,
        &pool.as_str(),
    );
    Ok(())
}

/// One line of numa_maps: its policy, the size of its pages, and how many lie on each node.
#[derive(Debug)]
struct Line {
    policy: String,
    page_bytes: u64,
    pages: BTreeMap<u64, u64>,
}

impl Line {
    /// The policy and the nodes that it used. Interleaved pages that are fewer than the nodes, each
    /// on a node of its own, count as being on all.
    fn found(&self, nodes: u64) -> Expected {
        let pages: u64 = self.pages.values().sum();
        let each_alone = pages < nodes && self.pages.values().all(|count| *count == 1);
        Expected {
            policy: self.policy.clone(),
            nodes: match each_alone && self.policy.starts_with("interleave:") {
                true => (0..nodes).collect(),
                false => self.pages.keys().copied().collect(),
            },
        }
    }
}

/// Reads a line of numa_maps, such as
/// `7f2c00000000 prefer:1 file=/SYSV00000000\040(deleted) huge N1=1 kernelpagesize_kB=2048`.
fn line(text: &str) -> Option<Line> {
    let mut words = text.split_whitespace().skip(1);
    let policy = words.next()?.to_owned();
    let mut line = Line {
        policy,
        page_bytes: 4096,
        pages: BTreeMap::new(),
    };
    for (key, value) in words.filter_map(|word| word.split_once('=')) {
        if key == "kernelpagesize_kB" {
            line.page_bytes = value.parse::<u64>().ok()? * 1024;
        } else if let Some(node) = key.strip_prefix('N') {
            line.pages.insert(node.parse().ok()?, value.parse().ok()?);
        }
    }
    Some(line)
}

/// The lines of the SGA that have pages.
fn lines(text: &str) -> Vec<Line> {
    let lines = text.lines().filter_map(line);
    lines.filter(|line| !line.pages.is_empty()).collect()
}

fn compare(asked: &Asked, nodes: u64, text: &str, complaints: &mut Complaints) -> Result<()> {
    let name = asked.name(nodes);
    let what = |part: &str| format!("{name}: {part}");
    ensure!(text.trim_end().ends_with("ended 0"), "it said {text}");
    let lines = lines(text);
    let found: Vec<Expected> = lines.iter().map(|line| line.found(nodes)).collect();
    let expected = asked.allocation.parts(nodes);
    complaints.expect(&what("policies and nodes"), &found, &expected);
    for line in &lines {
        complaints.expect(&what("page size"), &line.page_bytes, &asked.page_bytes);
        let (least, most) = (line.pages.values().min(), line.pages.values().max());
        let spread = most.unwrap_or(&0) - least.unwrap_or(&0);
        complaints.expect(&what("even to a page"), &(spread <= 1), &true);
    }
    let bytes: u64 = lines
        .iter()
        .map(|line| line.pages.values().sum::<u64>() * line.page_bytes)
        .sum();
    let least = asked.cache_mebibytes(nodes) << 20;
    complaints.expect(&what("all of the cache is there"), &(bytes >= least), &true);
    Ok(())
}

/// Each worker on the CPUs of its node, and more than 95 % of what it read from there.
fn local_reads(nodes: u64, trial: &Value, complaints: &mut Complaints) {
    let none = Vec::new();
    let sessions = trial["evidence"]["sessions"].as_array().unwrap_or(&none);
    complaints.expect("workers", &(sessions.len() as u64), &nodes);
    for (node, session) in sessions.iter().enumerate() {
        let by_node = session["bytes_read_by_node"].as_object();
        let bytes = |value: &Value| value.as_u64().unwrap_or(0);
        let all: u64 = by_node.into_iter().flatten().map(|(_, it)| bytes(it)).sum();
        let near = bytes(&session["bytes_read_by_node"][node.to_string()]);
        let is_local = all > 0 && near as f64 > 0.95 * all as f64;
        let what = format!("worker {node} read {near} of {all} bytes from its node");
        complaints.expect(&what, &is_local, &true);
    }
}

#[cfg(test)]
mod tests {
    use super::{Allocation, lines};

    /// A process of article 003's instance, which is NUMA-aware.
    const ARTICLE_003: &str =
        include_str!("../../../crates/numa/tests/article_003/pmon-numa-on.txt");

    /// What is asked of ours is what the article shows: an interleaved area, a pool on each node.
    #[test]
    fn the_form_of_a_numa_aware_instance_is_that_of_article_003() {
        let found: Vec<_> = lines(ARTICLE_003).iter().map(|it| it.found(32)).collect();
        for part in Allocation::PerNode.parts(32) {
            assert!(found.contains(&part), "{part:?} in {found:?}");
        }
    }
}
