//! Reads texts line by line; what a line means may depend on those before it.

use model::{GivenCpus, MemoryMoment, NodeId, PastedPart, PoolMoment};

use crate::clean::clean;
use crate::error::Error;
use crate::line::{self, Line, LscpuKey, MB};
use crate::machine::{COUNTERS, Machine};
use crate::paste::{Paste, Text};
use crate::processes::Processes;
use crate::tables::{self, Columns};

/// Reads texts of one machine.
///
/// # Errors
/// When nothing in them is recognised, or they are of two machines.
pub fn read(texts: &[Text]) -> Result<Paste, Error> {
    let mut reader = Reader::default();
    for text in texts {
        reader.text(text)?;
    }
    let names = texts.iter().map(|text| text.name.as_str());
    reader.finish(&names.collect::<Vec<_>>().join(", "))
}

/// What the lines before say about the next one.
#[derive(Debug, Default)]
enum State {
    #[default]
    None,
    /// A list of CPUs that may go on, and where it begins.
    Cpus(NodeId, String, String),
    /// Rows of distances from and to these nodes.
    Distances(Vec<NodeId>),
    /// A table with a column for each node.
    Table(Columns),
    /// What lat_mem_rd prints.
    LatMemRd(NodeId, NodeId),
    /// A file, to be kept as it is, and where it begins.
    File(String, String),
}

#[derive(Debug, Default)]
struct Reader {
    paste: Paste,
    machine: Machine,
    processes: Processes,
    state: State,
    /// Whether the text is one file of a kernel.
    is_whole_file: bool,
    /// What was recognised last: the lines after it are the same part.
    last_part: String,
    /// Whether the next free memory is of another moment.
    begins_moment: bool,
    order: usize,
}

impl Reader {
    fn text(&mut self, text: &Text) -> Result<(), Error> {
        self.state = State::None;
        // Files of one bundle are one part.
        if text.path.is_none() {
            self.last_part.clear();
        }
        self.processes.forget();
        self.is_whole_file = text.path.is_some();
        if let Some(path) = &text.path {
            self.file(path, &text.name);
        }
        let mut is_section = false;
        for (index, raw) in text.content.lines().enumerate() {
            self.order += 1;
            let place = format!("{}:{}", text.name, index + 1);
            // Sections of a supportconfig: a mark, then `# /PATH`.
            let path = raw.strip_prefix("# /").filter(|_| is_section);
            is_section = raw.starts_with("#==[") && text.path.is_none();
            if is_section || path.is_some() {
                self.end_of_state()?;
                if let Some(path) = path {
                    self.file(path, &place);
                }
                continue;
            }
            self.line(raw.trim_end_matches('\r'), &place)?;
        }
        self.end_of_state()
    }

    fn line(&mut self, raw: &str, place: &str) -> Result<(), Error> {
        let cleaned = clean(raw);
        let said = line::read(&cleaned);
        if let ([Line::File(path)], false) = (&said[..], self.is_whole_file) {
            self.end_of_state()?;
            self.file(path, place);
            return Ok(());
        }
        if let State::File(path, _) = &self.state {
            let path = path.clone();
            return self.line_of_file(&path, raw, &said, place);
        }
        if let State::Cpus(_, list, _) = &mut self.state
            && !cleaned.is_empty()
            && cleaned
                .chars()
                .all(|it| it.is_ascii_digit() || "-, ".contains(it))
        {
            list.push(',');
            list.push_str(&cleaned);
            return Ok(());
        }
        if matches!(self.state, State::Cpus(..)) {
            self.end_of_state()?;
        }
        if said.is_empty() {
            self.row_or_other(&cleaned, place);
            return Ok(());
        }
        said.into_iter()
            .try_for_each(|it| self.said(it, &cleaned, place))
    }

    /// A line of a file that is kept as it is: its moments count, too.
    fn line_of_file(
        &mut self,
        path: &str,
        raw: &str,
        said: &[Line],
        place: &str,
    ) -> Result<(), Error> {
        let file = self.paste.files.entry(path.to_owned()).or_default();
        file.push_str(raw);
        file.push('\n');
        for it in said {
            if let Line::NodeMeminfo(node, key, value, in_kb) = it {
                self.node_meminfo(*node, key, *value, *in_kb, place);
            }
        }
        Ok(())
    }

    /// A file follows, or a text from a file that is not of the kernel.
    fn file(&mut self, path: &str, place: &str) {
        let path = path.trim().trim_start_matches('/');
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        let of_kernel = path.starts_with("sys/") || path.starts_with("proc/");
        if of_kernel && path.len() <= PATH_BYTES_MAX && path.split('/').all(is_plain) {
            self.part("files of /sys and /proc", place);
            self.paste.files.insert(path.to_owned(), String::new());
            self.state = State::File(path.to_owned(), place.to_owned());
        }
    }

    fn end_of_state(&mut self) -> Result<(), Error> {
        match std::mem::take(&mut self.state) {
            State::Cpus(node, list, place) => match line::cpus(&list) {
                Some(cpus) => self.machine.node_cpus(node, cpus, &place)?,
                None => {
                    let remark = format!("the CPUs of node {node} at {place} are no list");
                    self.paste.remarks.push(remark);
                }
            },
            State::File(path, place) => {
                let text = self.paste.files.entry(path.clone()).or_default();
                // What printed it put an empty line between two files.
                text.truncate(text.trim_end_matches('\n').len());
                text.push('\n');
                self.machine.file(&path, text, &place)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn said(&mut self, said: Line, line: &str, place: &str) -> Result<(), Error> {
        match said {
            Line::Available => {
                self.part("numactl --hardware", place);
                self.begins_moment = true;
            }
            Line::NodeCpus(node, list) => {
                self.part_unless(
                    "numactl --hardware",
                    "lscpu",
                    line.starts_with("NUMA"),
                    place,
                );
                self.state = State::Cpus(node, list, place.to_owned());
            }
            Line::NodeMemory(node, key, bytes) => {
                self.part("numactl --hardware", place);
                self.node_memory(node, key, bytes, place);
            }
            Line::DistanceColumns(nodes) => self.state = State::Distances(nodes),
            Line::DistanceRows(rows) => {
                if let State::Distances(columns) = &self.state {
                    for (from, row) in rows.into_iter().filter(|it| it.1.len() == columns.len()) {
                        self.machine.distances(from, columns, &row, place)?;
                    }
                }
            }
            Line::NodeMeminfo(node, key, value, in_kb) => {
                self.part("meminfo of nodes", place);
                self.node_meminfo(node, &key, value, in_kb, place);
            }
            Line::MachineMeminfo(line) => {
                self.part("/proc/meminfo", place);
                self.machine.meminfo(&line);
            }
            Line::Lscpu(key, value) => {
                self.part("lscpu", place);
                self.lscpu(key, &value, place)?;
            }
            Line::Status(line) => {
                self.part("status of a process", place);
                self.processes.status(&line);
            }
            Line::GivenCpus(cpus) => {
                self.part("CPUs that were given", place);
                let (place, order) = (place.to_owned(), self.order);
                self.paste.given_cpus.push(GivenCpus { place, order, cpus });
            }
            Line::LatMemRd(from, to) => {
                self.part("lat_mem_rd", place);
                self.state = State::LatMemRd(from, to);
            }
            Line::Pair(_, ns) => {
                // The size grows from row to row: the last one is memory.
                if let State::LatMemRd(from, to) = self.state {
                    self.paste.latencies.insert((from, to), ns);
                }
            }
            Line::NumaMaps => {
                self.part("numa_maps", place);
                self.processes.numa_maps(line, place);
            }
            Line::OfProcess(process, _) => self.processes.name(process),
            Line::NotUsed(what) => self.part(&format!("{what}: not used"), place),
            Line::NodeColumns(nodes, in_mb) => self.state = State::Table(Columns { nodes, in_mb }),
            Line::File(_) => {}
        }
        Ok(())
    }

    /// A row of a table, or a line of other text.
    fn row_or_other(&mut self, line: &str, place: &str) {
        let row = match &self.state {
            State::Table(columns) => tables::row(line, columns).map(|row| (row, columns.in_mb)),
            _ => None,
        };
        match row {
            Some(((name, cells), true)) if name.starts_with("Mem") => {
                self.part("numastat -m", place);
                for (node, mb) in cells {
                    // Two decimals of a MB, far below 2^53 bytes.
                    let bytes = (mb.max(0.0) * MB as f64).round() as u64;
                    self.node_meminfo(node, name, bytes >> 10, true, place);
                }
            }
            Some(((name, cells), false)) if COUNTERS.contains(&name) => {
                self.part("numastat", place);
                for (node, count) in cells {
                    self.machine.counter(node, name, count.max(0.0) as u64);
                }
            }
            Some(_) => {}
            None if line.is_empty() || line.chars().all(|it| "-=~ ".contains(it)) => {}
            None if HEADINGS.iter().any(|it| line.starts_with(it)) => {}
            None => self.paste.other_lines += 1,
        }
    }

    fn lscpu(&mut self, key: LscpuKey, value: &str, place: &str) -> Result<(), Error> {
        match key {
            LscpuKey::Online => match line::cpus(value) {
                Some(cpus) => self.machine.online(cpus, place),
                None => Ok(()),
            },
            LscpuKey::Model => {
                self.machine.processor(value);
                Ok(())
            }
            LscpuKey::Architecture => {
                self.machine.architecture(value);
                Ok(())
            }
        }
    }

    fn node_memory(&mut self, node: NodeId, key: &str, bytes: u64, place: &str) {
        self.node_meminfo(node, key, bytes >> 10, true, place);
    }

    fn node_meminfo(&mut self, node: NodeId, key: &str, value: u64, in_kb: bool, place: &str) {
        self.machine.node_meminfo(node, key, value, in_kb);
        match key {
            "MemFree" if in_kb => self.free(node, value.saturating_mul(1024), place),
            "HugePages_Total" => self.pool(node, place, |pages| pages.0 = value),
            "HugePages_Free" => self.pool(node, place, |pages| pages.1 = value),
            _ => {}
        }
    }

    fn free(&mut self, node: NodeId, bytes: u64, place: &str) {
        let moments = &mut self.paste.moments;
        let is_same = |moment: &MemoryMoment| !moment.free_bytes.contains_key(&node);
        let begins = std::mem::take(&mut self.begins_moment);
        if begins || !moments.last().is_some_and(is_same) {
            moments.push(MemoryMoment {
                place: place.to_owned(),
                ..MemoryMoment::default()
            });
        }
        if let Some(moment) = moments.last_mut() {
            moment.free_bytes.insert(node, bytes);
        }
    }

    /// The total of a node comes first, as in its meminfo.
    fn pool(&mut self, node: NodeId, place: &str, set: impl FnOnce(&mut (u64, u64))) {
        let (mut total, mut free) = (u64::MAX, u64::MAX);
        let mut pages = (total, free);
        set(&mut pages);
        (total, free) = pages;
        let pools = &mut self.paste.pools;
        let is_new = |it: &PoolMoment| match it.pages.get(&node) {
            None => false,
            Some(known) => {
                (total < u64::MAX && known.0 < u64::MAX) || (free < u64::MAX && known.1 < u64::MAX)
            }
        };
        if pools.last().is_none_or(is_new) {
            pools.push(PoolMoment {
                place: place.to_owned(),
                order: self.order,
                ..PoolMoment::default()
            });
        }
        if let Some(moment) = pools.last_mut() {
            let known = moment.pages.entry(node).or_insert((u64::MAX, u64::MAX));
            known.0 = known.0.min(total);
            known.1 = known.1.min(free);
        }
    }

    /// Names what was recognised, once for each run of it.
    fn part(&mut self, what: &str, place: &str) {
        if self.last_part != what {
            what.clone_into(&mut self.last_part);
            let (what, place) = (what.to_owned(), place.to_owned());
            self.paste.parts.push(PastedPart { what, place });
        }
    }

    fn part_unless(&mut self, what: &str, other: &str, is_other: bool, place: &str) {
        self.part(if is_other { other } else { what }, place);
    }

    fn finish(mut self, names: &str) -> Result<Paste, Error> {
        if self.paste.parts.is_empty() {
            let files = names.to_owned();
            return Err(Error::Nothing { files });
        }
        let paste = &mut self.paste;
        // Half a set says nothing of what is in use.
        for moment in &mut paste.pools {
            let is_whole = |pages: &(u64, u64)| pages.0 < u64::MAX && pages.1 <= pages.0;
            moment.pages.retain(|_, pages| is_whole(pages));
        }
        paste.pools.retain(|moment| !moment.pages.is_empty());
        let nodes = self.processes.nodes();
        let mut processes = self.processes.write(&mut paste.files, &mut paste.remarks);
        processes.extend(paste.files.keys().filter_map(|path| of_process(path)));
        paste.processes = processes.into_iter().collect();
        paste.has_cpus = self
            .machine
            .write(&nodes, &mut paste.files, &mut paste.remarks);
        Ok(self.paste)
    }
}

/// Maximum length of the path of a file: those of /sys have some hundred.
const PATH_BYTES_MAX: usize = 512;

/// Headings inside of known output, which say nothing of their own.
const HEADINGS: [&str; 3] = ["node distances:", "\"stride=", "depth(MB)"];

/// The process that a file of numa_maps is of.
fn of_process(path: &str) -> Option<u32> {
    let id = path.strip_prefix("proc/")?.strip_suffix("/numa_maps")?;
    id.parse().ok()
}
