//! What texts say.

use std::collections::BTreeMap;

use model::{
    Fetch, GivenCpus, MatrixCell, MemoryMoment, NodeId, NodeMatrix, NodeSet, PastedPart,
    PoolMoment, Reading,
};

/// A text, and the name that its places begin with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// The name of its file.
    pub name: String,
    /// The text.
    pub content: String,
    /// Where it is on its machine, if it is a whole file of /sys or /proc: `proc/meminfo`.
    pub path: Option<String>,
    /// Whether it is one file of a bundle, which is of one moment.
    pub is_of_bundle: bool,
}

/// What texts say of one machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paste {
    /// The files that its kernel would show, by path below the root, without the first slash.
    pub files: BTreeMap<String, String>,
    /// Whether the CPUs of any node are known: without them, it is no machine to look at.
    pub has_cpus: bool,
    /// Processes whose memory is known, ascending by id.
    pub processes: Vec<u32>,
    /// Of those, the ones without an id in the text, with the name or the word that stands for it.
    pub named: BTreeMap<u32, String>,
    /// The free memory of the nodes at each moment, in the order of the text.
    pub moments: Vec<MemoryMoment>,
    /// The pools of huge pages of the nodes at each moment, in the order of the text.
    pub pools: Vec<PoolMoment>,
    /// CPUs given to a process or a group, in the order of the text.
    pub given_cpus: Vec<GivenCpus>,
    /// Latencies in ns from a node to memory of another, the last of each pair.
    pub latencies: BTreeMap<(NodeId, NodeId), f64>,
    /// What was recognised, in the order of the text.
    pub parts: Vec<PastedPart>,
    /// How many lines with text were not recognised.
    pub other_lines: usize,
    /// What the reader should know of how it was read.
    pub remarks: Vec<String>,
}

impl Paste {
    /// The latencies as a matrix, with a row for each node that one was measured from.
    pub fn latency_matrix(&self) -> NodeMatrix {
        let from: NodeSet = self.latencies.keys().map(|it| it.0).collect();
        let to: NodeSet = self.latencies.keys().map(|it| it.1).collect();
        let cell = |from: NodeId, to: NodeId| match self.latencies.get(&(from, to)) {
            Some(ns) => MatrixCell::of(*ns),
            None => MatrixCell::absent("not in the text"),
        };
        let rows = from
            .iter()
            .map(|from| to.iter().map(|to| cell(from, to)).collect());
        let rows = rows.collect();
        let matrix = NodeMatrix::new(from.iter().collect(), to.iter().collect(), rows);
        matrix.unwrap_or_default()
    }

    /// What the processes are called in commands: the id or the name of the only one, else `PID`;
    /// `None` without any.
    pub fn target(&self) -> Option<String> {
        let [pid] = self.processes[..] else {
            return (!self.processes.is_empty()).then(|| "PID".to_owned());
        };
        Some(match self.named.get(&pid) {
            None => pid.to_string(),
            Some(name) => name.clone(),
        })
    }

    /// Whether the file cache of a node is known.
    pub fn has_file_cache(&self, node: NodeId) -> bool {
        let path = format!("sys/devices/system/node/node{node}/meminfo");
        let text = self.files.get(&path);
        text.is_some_and(|text| text.contains("FilePages"))
    }

    /// How it was read, and what to fetch next.
    pub fn reading(&self) -> Reading {
        Reading {
            parts: self.parts.clone(),
            other_lines: self.other_lines,
            remarks: self.remarks.clone(),
            fetch_next: self.fetch_next(),
        }
    }

    /// What the doctor lacks most, and the command for each.
    fn fetch_next(&self) -> Vec<Fetch> {
        let has = |end: &str| self.files.keys().any(|path| path.ends_with(end));
        let has_status = |pid: &u32| {
            let status = self.files.get(&format!("proc/{pid}/status"));
            status.is_some_and(|text| text.contains("Cpus_allowed_list"))
        };
        let lacks = [
            (
                !self.has_cpus || !has("/distance"),
                "the nodes: CPUs, memory, distances",
                "numactl --hardware",
            ),
            (
                self.pools.is_empty(),
                "pools of huge pages by node",
                "grep -H HugePages /sys/devices/system/node/node*/meminfo",
            ),
            (
                self.processes.is_empty(),
                "where the memory of the database lies",
                "cat /proc/PID/numa_maps",
            ),
            (
                self.processes.is_empty() || !self.processes.iter().all(has_status),
                "on which CPUs and nodes it may be",
                "grep allowed_list /proc/PID/status",
            ),
        ];
        let lacks = lacks.into_iter().filter(|(lacks, ..)| *lacks);
        let fetch = |(_, what, command): (bool, &str, &str)| Fetch {
            what: what.to_owned(),
            command: command.to_owned(),
        };
        lacks.map(fetch).collect()
    }
}

/// Whether a path, without its first slash, is that of a file of the kernel, and plain.
pub(crate) fn is_of_kernel(path: &str) -> bool {
    let is_plain = |part: &str| {
        let is_name = !part.is_empty() && part.len() <= NAME_BYTES_MAX;
        is_name && ![".", ".."].contains(&part) && !part.contains(char::is_control)
    };
    let of_kernel = path.starts_with("sys/") || path.starts_with("proc/");
    of_kernel && path.len() <= PATH_BYTES_MAX && path.split('/').all(is_plain)
}

/// NAME_MAX of Linux.
const NAME_BYTES_MAX: usize = 255;
/// Maximum length of the path of a file: those of /sys have some hundred.
const PATH_BYTES_MAX: usize = 512;
