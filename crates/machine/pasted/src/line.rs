//! What a single line says, once it is clean.

use model::{CpuSet, NodeId};

use crate::process_line::{self, Process};

/// Bytes of what numactl, numastat and lscpu call MB.
pub(crate) const MB: u64 = 1 << 20;

/// What a line says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Line {
    /// `available: 8 nodes (0-7)` of `numactl --hardware`.
    Available,
    /// The CPUs of a node; the list may go on on the next line.
    NodeCpus(NodeId, String),
    /// `node 0 size: 32733 MB`, `node 0 free: 29452 MB`, as keys of meminfo, in bytes.
    NodeMemory(NodeId, &'static str, u64),
    /// The columns of the table of distances.
    DistanceColumns(Vec<NodeId>),
    /// Rows of it.
    DistanceRows(Vec<(NodeId, Vec<u32>)>),
    /// `Node 0 HugePages_Free: 23589`: key, value, and whether that is in kB.
    NodeMeminfo(NodeId, String, u64, bool),
    /// `MemTotal: 32733 kB` of /proc/meminfo: the whole line.
    MachineMeminfo(String),
    /// The online CPUs or the processor, of lscpu.
    Lscpu(LscpuKey, String),
    /// `Cpus_allowed_list:` and its like in the status of a process: the whole line.
    Status(String),
    /// CPUs given to a process or a group.
    GivenCpus(CpuSet),
    /// lat_mem_rd begins, from CPUs of a node with memory of another.
    LatMemRd(NodeId, NodeId),
    /// Two numbers: size in MB and ns of lat_mem_rd.
    Pair(f64, f64),
    /// A line of numa_maps.
    NumaMaps,
    /// A command that names a file of a process; `None` if which one cannot be told.
    OfProcess(Option<Process>),
    /// `==> /PATH <==`.
    File(String),
    /// Output that is known but not used: its name and why.
    NotUsed(&'static str),
    /// A header of columns, one for each node, as of numastat.
    NodeColumns(Vec<NodeId>, bool),
}

/// Keys of lscpu that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LscpuKey {
    /// `On-line CPU(s) list`.
    Online,
    /// `Model name`.
    Model,
    /// `Architecture`.
    Architecture,
}

/// Returns all that a clean line says.
pub(crate) fn read(line: &str) -> Vec<Line> {
    let fields = node_fields(line);
    match fields.is_empty() {
        true => single(line).into_iter().collect(),
        false => fields,
    }
}

fn single(line: &str) -> Option<Line> {
    let readers: [fn(&str) -> Option<Line>; 14] = [
        file,
        available,
        lat_mem_rd,
        |line| process_line::of_process(line).map(Line::OfProcess),
        given_cpus,
        lscpu,
        node_meminfo,
        distance_columns,
        node_columns,
        distance_rows,
        status,
        |line| process_line::is_numa_maps(line).then_some(Line::NumaMaps),
        not_used,
        machine_meminfo,
    ];
    readers
        .iter()
        .find_map(|read| read(line))
        .or_else(|| pair(line))
}

fn file(line: &str) -> Option<Line> {
    let inside = line
        .strip_prefix("==> ")
        .or_else(|| line.strip_prefix("==&gt; "));
    // The mark of a quoted mail at the start may have been taken away with the header's own.
    let path = inside?.strip_suffix(" <==")?;
    Some(Line::File(path.to_owned()))
}

fn available(line: &str) -> Option<Line> {
    let rest = line.strip_prefix("available: ")?;
    let is_it = rest
        .split(' ')
        .nth(1)
        .is_some_and(|word| word.starts_with("node"));
    is_it.then_some(Line::Available)
}

/// Fields of `numactl --hardware`, several of which may stand on one line.
fn node_fields(line: &str) -> Vec<Line> {
    let starts: Vec<(usize, NodeId, &str, usize)> = line
        .match_indices("node ")
        .filter_map(|(at, _)| {
            let is_first = at == 0 || line[..at].ends_with(' ');
            let rest = &line[at + 5..];
            let digits = rest.bytes().take(5).take_while(u8::is_ascii_digit).count();
            let (id, word) = rest.split_at(digits);
            let word = word.strip_prefix(' ')?.get(..5)?;
            let word = word.strip_suffix(':')?;
            let is_field = is_first && ["cpus", "size", "free"].contains(&word);
            let value = at + 5 + id.len() + 1 + word.len() + 1;
            is_field.then_some((at, node(id)?, word, value))
        })
        .collect();
    let ends = starts.iter().skip(1).map(|it| it.0).chain([line.len()]);
    let fields = starts
        .iter()
        .zip(ends)
        .filter_map(|((_, node, word, start), end)| {
            let value = line[*start..end].trim();
            match *word {
                "cpus" => Some(Line::NodeCpus(*node, value.to_owned())),
                word => {
                    let key = if word == "size" {
                        "MemTotal"
                    } else {
                        "MemFree"
                    };
                    Some(Line::NodeMemory(*node, key, mb(value)?))
                }
            }
        });
    fields.collect()
}

fn mb(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let number: u64 = number.parse().ok()?;
    unit.starts_with("MB").then(|| number.saturating_mul(MB))
}

/// Reads the number of a node.
pub(crate) fn node(text: &str) -> Option<NodeId> {
    text.parse().ok().filter(|id| *id < NODES_MAX).map(NodeId)
}

/// MAX_NUMNODES of every distribution is at most this (CONFIG_NODES_SHIFT of at most 10).
const NODES_MAX: u32 = 1024;

/// `node   0   1   2   3`.
fn distance_columns(line: &str) -> Option<Line> {
    let words = line.strip_prefix("node ")?.split_whitespace();
    let nodes: Option<Vec<NodeId>> = words.map(node).collect();
    nodes.filter(|it| !it.is_empty()).map(Line::DistanceColumns)
}

/// `0:  10  21  21  21`, and what a reader of PDF makes of several rows.
fn distance_rows(line: &str) -> Option<Line> {
    let mut rows: Vec<(NodeId, Vec<u32>)> = Vec::new();
    for word in line.split_whitespace() {
        match word.strip_suffix(':') {
            Some(id) => rows.push((node(id)?, Vec::new())),
            None => rows.last_mut()?.1.push(word.parse().ok()?),
        }
    }
    let is_whole = !rows.is_empty() && rows.iter().all(|(_, row)| !row.is_empty());
    is_whole.then_some(Line::DistanceRows(rows))
}

/// `Node 0 MemFree:  29452 kB`, after the path that grep prints.
fn node_meminfo(line: &str) -> Option<Line> {
    let start = line.match_indices("Node ").map(|(at, _)| at);
    let rest = start.last().map(|at| &line[at + 5..])?;
    let (id, rest) = rest.split_once(' ')?;
    let (key, value) = rest.split_once(':')?;
    let is_key = |it: char| it.is_ascii_alphanumeric() || "_()".contains(it);
    let mut value = value.split_whitespace();
    let number = value.next()?.parse().ok()?;
    let in_kb = match value.next() {
        None => false,
        Some("kB") => true,
        Some(_) => return None,
    };
    let is_it = !key.is_empty() && key.chars().all(is_key);
    is_it.then_some(Line::NodeMeminfo(node(id)?, key.to_owned(), number, in_kb))
}

fn machine_meminfo(line: &str) -> Option<Line> {
    const KEYS: [&str; 9] = [
        "MemTotal",
        "MemFree",
        "MemAvailable",
        "Hugepagesize",
        "HugePages_Total",
        "HugePages_Free",
        "HugePages_Rsvd",
        "HugePages_Surp",
        "AnonHugePages",
    ];
    let (key, value) = line.split_once(':')?;
    let mut value = value.split_whitespace();
    value.next()?.parse::<u64>().ok()?;
    let is_it = KEYS.contains(&key) && matches!(value.next(), None | Some("kB"));
    is_it.then(|| Line::MachineMeminfo(line.to_owned()))
}

fn lscpu(line: &str) -> Option<Line> {
    let (key, value) = line.split_once(':')?;
    let value = value.trim().to_owned();
    if let Some(id) = key.strip_prefix("NUMA node") {
        let id = id.strip_suffix(" CPU(s)")?;
        return Some(Line::NodeCpus(node(id)?, value));
    }
    let key = match key {
        "On-line CPU(s) list" => LscpuKey::Online,
        "Model name" => LscpuKey::Model,
        "Architecture" => LscpuKey::Architecture,
        _ => return None,
    };
    Some(Line::Lscpu(key, value))
}

fn status(line: &str) -> Option<Line> {
    let (key, value) = line.split_once(':')?;
    let is_it = ["Cpus_allowed_list", "Mems_allowed_list"].contains(&key);
    (is_it && cpus(value).is_some()).then(|| Line::Status(format!("{key}:\t{}", value.trim())))
}

/// Reads a list of CPUs as tools print it: `1-9`, `0 1 2`, `0-27, 56-83 (56)`. Node lists have the
/// same form.
pub(crate) fn cpus(text: &str) -> Option<CpuSet> {
    let text = text.split('(').next().unwrap_or_default();
    let words = text.split([' ', ',']).filter(|word| !word.is_empty());
    let list: Vec<&str> = words.collect();
    list.join(",").parse().ok()
}

/// What taskset prints, and what stands in a configuration of control groups.
fn given_cpus(line: &str) -> Option<Line> {
    let list = match line.split_once("affinity list:") {
        Some((_, list)) => list,
        None => {
            let (_, rest) = line.split_once("cpuset.cpus")?;
            let rest = rest.trim_start_matches(['*', ' ', '=', ':']);
            rest.trim_start_matches('"')
        }
    };
    let end = |it: char| !(it.is_ascii_digit() || "-, ".contains(it));
    let list = list.split(end).next().unwrap_or_default().trim();
    let cpus = cpus(list).filter(|cpus| !cpus.is_empty())?;
    Some(Line::GivenCpus(cpus))
}

fn lat_mem_rd(line: &str) -> Option<Line> {
    if !line.contains("lat_mem_rd") {
        return None;
    }
    let words: Vec<&str> = line
        .split([' ', '='])
        .filter(|word| !word.is_empty())
        .collect();
    let after = |names: [&str; 2]| {
        let at = words.iter().position(|word| names.contains(word))?;
        node(words.get(at + 1)?)
    };
    let from = after(["--cpunodebind", "-N"])?;
    Some(Line::LatMemRd(from, after(["--membind", "-m"])?))
}

fn pair(line: &str) -> Option<Line> {
    let mut words = line.split_whitespace();
    let mut number = || {
        words
            .next()?
            .parse::<f64>()
            .ok()
            .filter(|it| it.is_finite())
    };
    let pair = Line::Pair(number()?, number()?);
    words.next().is_none().then_some(pair)
}

/// `node0 node1` of numastat, `Node 0 Node 1 Total` of `numastat -m`; the second has MB.
fn node_columns(line: &str) -> Option<Line> {
    let words: Vec<&str> = line
        .split_whitespace()
        .filter(|it| *it != "Total")
        .collect();
    let joined: Option<Vec<NodeId>> = words
        .iter()
        .map(|word| node(word.strip_prefix("node")?))
        .collect();
    if let Some(nodes) = joined.filter(|it| !it.is_empty()) {
        return Some(Line::NodeColumns(nodes, false));
    }
    let pairs = words.chunks(2);
    let nodes: Option<Vec<NodeId>> = pairs
        .map(|pair| match pair {
            ["Node", id] => node(id),
            _ => None,
        })
        .collect();
    let nodes = nodes.filter(|it| !it.is_empty())?;
    Some(Line::NodeColumns(nodes, true))
}

/// Their figures are of an instance, not of nodes.
const ORACLE: &str = "a report of Oracle, which tells of no nodes; `numalab import` compares such";

fn not_used(line: &str) -> Option<Line> {
    const OUTPUTS: [(&str, &str); 2] = [
        ("policy: ", "numactl --show, which tells of a shell"),
        (
            "Per-node process memory usage",
            "numastat -p, which does not tell shared from private",
        ),
    ];
    // These stand in headings of a page, too.
    const REPORTS: [(&str, &str); 3] = [
        ("WORKLOAD REPOSITORY report", ORACLE),
        ("STATSPACK report", ORACLE),
        (
            "PGLIST_DATA",
            "kmem -n of crash, which has pages of zones and no CPUs",
        ),
    ];
    let outputs = OUTPUTS.iter().find(|(start, _)| line.starts_with(start));
    let found = outputs.or_else(|| REPORTS.iter().find(|(part, _)| line.contains(part)))?;
    Some(Line::NotUsed(found.1))
}
