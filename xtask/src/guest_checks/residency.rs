//! Where the kernel puts every backing with every allocation, in small and huge pages, on four
//! nodes and on thirty-two, and pages of 1 GiB on two: an instance is held up for each, and
//! numa_maps, the kernel's own account, agrees with the kernel's rules. With stealing off, what a
//! parallel worker reads is local.

use anyhow::Result;
use serde_json::Value;

use super::check::{Answers, Check, Complaints, GuestCommand, numalab, shell};
use super::held::{self, Held};
use super::numa_maps::{Expected, Line};
use super::run_document::{case, valid_trials};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "residency",
    applies_to: |shape| shape.name == "thirty-two-node",
    cgroup: CgroupVersion::V2,
    seconds: 400,
    commands,
    judge,
};

/// The check of shapes that take minutes: every backing with every allocation on four nodes, and
/// the largest pages.
pub(super) const CHECK_LONG: Check = Check {
    name: "residency-elsewhere",
    applies_to: |shape| ["four-node-ring", "large-memory"].contains(&shape.name),
    ..CHECK
};

const SMALL: u64 = 4 << 10;
const HUGE: u64 = 2 << 20;
const LARGEST: u64 = 1 << 30;

/// Returns the size of huge pages used on a shape, and how many are in the pool of each node.
fn pool_of(shape: &Shape) -> (u64, u64) {
    match shape.name {
        "large-memory" => (LARGEST, 2),
        _ => (HUGE, 12),
    }
}

/// What one case requests from the kernel.
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

    /// Returns its name in an experiment file.
    fn word(self, nodes: u64) -> String {
        match self {
            Allocation::OsDefault => "os-default".to_owned(),
            Allocation::Interleave => "interleave:all".to_owned(),
            Allocation::Bind => format!("bind:{}", nodes - 2),
            Allocation::Prefer => format!("prefer:{}", nodes - 1),
            Allocation::PerNode => "per-node:all".to_owned(),
        }
    }

    /// Returns the parts of the SGA that have their own policy, in the order of their addresses.
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
            // Memory lies on the node of the CPU that first touched it, which the file names.
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

/// Returns every case. Thirty-two emulated CPUs take turns on one of the host's, so they get fewer.
fn asked(shape: &Shape) -> impl Iterator<Item = Asked> {
    let memory: &[(&str, u64)] = match shape.name {
        "thirty-two-node" => &[("sysv", HUGE), ("memfd", SMALL)],
        "large-memory" => &[("memfd", LARGEST), ("sysv", LARGEST)],
        _ => &[
            ("memfd", SMALL),
            ("sysv", SMALL),
            ("shm", SMALL),
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
        let pages = match self.page_bytes {
            SMALL => "",
            HUGE => "-huge",
            _ => "-largest",
        };
        format!("{}{pages}-{allocation}", self.backing)
    }

    /// Returns MiB of buffers: a pool has whole pages, and a table has four blocks. The largest
    /// pages are more than one, so that they can be interleaved.
    fn cache_mebibytes(&self, nodes: u64) -> u64 {
        match (self.allocation, self.page_bytes) {
            (Allocation::PerNode, HUGE | LARGEST) => (self.page_bytes >> 20) * nodes,
            (Allocation::Interleave, LARGEST) => LARGEST >> 20,
            _ => 4,
        }
    }

    fn case(&self, nodes: u64) -> String {
        format!(
            "\n[[case]]\nname = \"{}\"\nabout = \"One residency.\"\nbacking = \"{}\"\n\
             page-size = \"{}KiB\"\nallocation = \"{}\"\ncache = \"{}MiB\"\n",
            self.name(nodes),
            self.backing,
            self.page_bytes >> 10,
            self.allocation.word(nodes),
            self.cache_mebibytes(nodes),
        )
    }
}

fn nodes_of(shape: &Shape) -> u64 {
    shape.nodes.len() as u64
}

fn commands(shape: &Shape) -> Vec<GuestCommand> {
    let (page_bytes, pages) = pool_of(shape);
    let pools = format!(
        "/sys/devices/system/node/node*/hugepages/hugepages-{}kB",
        page_bytes >> 10
    );
    let free_pages = format!("cat {pools}/free_hugepages | uniq");
    let size = format!("{}K", page_bytes >> 10);
    let set = format!("all={pages}");
    let file = |name: &'static str, text: String| {
        shell(name, &format!("cat >/tmp/{name}.toml <<'END'\n{text}\nEND"))
    };
    let mut commands = vec![
        shell("residency before", &free_pages),
        numalab("residency set", &["pages", "--size", &size, "--set", &set]),
        shell("residency pools", &free_pages),
        file("residency", experiment(shape)),
        shell("maps", &hold_each(shape)),
        numalab(
            "too large",
            &["run", "/tmp/residency.toml", "--hold", "too-large"],
        ),
        shell("residency free pages", &free_pages),
        numalab("residency undo", &["undo"]),
        shell("residency undone", &free_pages),
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

/// Whether scans run on a shape. Thirty-two emulated CPUs take turns on one of the host's, which is
/// too slow for that many workers.
fn scans(shape: &Shape) -> bool {
    shape.name == "four-node-ring"
}

/// Returns a script that holds an instance up for each case, and shows the kernel's account of its
/// SGA.
fn hold_each(shape: &Shape) -> String {
    let nodes = nodes_of(shape);
    let names: Vec<String> = asked(shape).map(|asked| asked.name(nodes)).collect();
    held::script("/tmp/residency.toml", &names)
}

/// Returns the experiment file. All processes run on one CPU of the home node, which touches every
/// page first.
fn experiment(shape: &Shape) -> String {
    let nodes = nodes_of(shape);
    let cpu = HOME * u64::from(shape.cores * shape.threads);
    let first = asked(shape).next().map(|asked| asked.name(nodes));
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
    asked(shape).for_each(|asked| text.push_str(&asked.case(nodes)));
    // More than the pool of that node has, but no more than all pools together.
    let (page_bytes, pages) = pool_of(shape);
    text.push_str(&format!(
        "\n[[case]]\nname = \"too-large\"\nabout = \"More than the pool has.\"\n\
         page-size = \"{}KiB\"\nallocation = \"bind:0\"\ncache = \"{}MiB\"\n",
        page_bytes >> 10,
        (page_bytes >> 20) * pages + 2
    ));
    text
}

/// Returns the experiment file of a scan with as many workers as nodes.
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
    let (page_bytes, pages) = pool_of(shape);
    let pool = format!("{pages}\n");
    complaints.expect("pools", &answers.text("residency pools")?, &pool.as_str());
    let held = held::parse(answers.text("maps")?)?;
    complaints.expect("cases held", &held.len(), &asked(shape).count());
    for (asked, held) in asked(shape).zip(&held) {
        complaints.expect("case", &held.name, &asked.name(nodes));
        compare(&asked, nodes, held, complaints);
    }
    if scans(shape) {
        for trial in valid_trials(case(&answers.json("scan")?, "off")?, complaints) {
            local_reads(nodes, trial, complaints);
        }
    }
    let refused = answers.outcome("too large")?;
    let said = String::from_utf8_lossy(&refused.stderr);
    let size = if page_bytes == LARGEST {
        "1 GiB"
    } else {
        "2 MiB"
    };
    let names_the_pool = said.contains(&format!("{size} pages on node 0 ("));
    complaints.expect(
        &format!("more than the pool of a node has, refused: {said}"),
        &(refused.status, names_the_pool),
        &(3, true),
    );
    for (when, name, expected) in [
        ("after", "residency free pages", pool.as_str()),
        (
            "after undo",
            "residency undone",
            answers.text("residency before")?,
        ),
    ] {
        complaints.expect(
            &format!("free pages {when}"),
            &answers.text(name)?,
            &expected,
        );
    }
    Ok(())
}

fn compare(asked: &Asked, nodes: u64, held: &Held, complaints: &mut Complaints) {
    let what = |part: &str| format!("{}: {part}", held.name);
    let lines = held.sga();
    let found: Vec<Expected> = lines.iter().map(|line| line.found(nodes)).collect();
    let expected = asked.allocation.parts(nodes);
    complaints.expect(&what("policies and nodes"), &found, &expected);
    for line in &lines {
        complaints.expect(&what("page size"), &line.page_bytes, &asked.page_bytes);
        let (least, most) = (line.pages.values().min(), line.pages.values().max());
        let spread = most.unwrap_or(&0) - least.unwrap_or(&0);
        complaints.expect(&what("even to a page"), &(spread <= 1), &true);
    }
    let bytes: u64 = lines.iter().map(Line::bytes).sum();
    let least = asked.cache_mebibytes(nodes) << 20;
    complaints.expect(&what("all of the cache is there"), &(bytes >= least), &true);
}

/// Checks that each worker read more than 95 % of its bytes from its node.
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
    use super::super::numa_maps::lines;
    use super::Allocation;

    /// The numa_maps of a process of article 003's instance, which is NUMA-aware.
    const ARTICLE_003: &str =
        include_str!("../../../crates/machine/residency/tests/article_003/pmon-numa-on.txt");

    /// What is expected of numalab's instance is what the article shows: an interleaved area, a
    /// pool on each node.
    #[test]
    fn the_form_of_a_numa_aware_instance_is_that_of_article_003() {
        let found: Vec<_> = lines(ARTICLE_003).iter().map(|it| it.found(32)).collect();
        for part in Allocation::PerNode.parts(32) {
            assert!(found.contains(&part), "{part:?} in {found:?}");
        }
    }
}
