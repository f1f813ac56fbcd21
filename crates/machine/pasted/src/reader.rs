//! Reads texts line by line; what a line means may depend on those before it.

use model::{GivenCpus, NodeId, NodeSet, PastedPart};

use crate::clean::clean;
use crate::error::Error;
use crate::latencies::Latencies;
use crate::line::{self, Line, MB};
use crate::lstopo::Tree;
use crate::machine::{COUNTERS, Machine};
use crate::moments::Moments;
use crate::paste::{Paste, Text, is_of_kernel};
use crate::process_line;
use crate::processes::{Processes, of_process};
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
    /// What lstopo prints, and where it begins.
    Lstopo(Tree, String),
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
    /// Whether it is one file of several of one moment.
    is_of_bundle: bool,
    /// What stood before the header of a file, as in a quoted mail.
    quote: String,
    latencies: Latencies,
    /// What was recognised last: the lines after it are the same part.
    last_part: String,
    moments: Moments,
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
        self.is_of_bundle = text.is_of_bundle;
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
        let mut cleaned = clean(raw);
        if !matches!(self.state, State::File(..)) {
            cleaned = self.processes.without_file(cleaned);
        }
        if let State::Lstopo(tree, _) = &mut self.state {
            if tree.takes(&cleaned, raw) {
                return Ok(());
            }
            self.end_of_state()?;
        }
        if let (Some(tree), false) = (Tree::begins(&cleaned, raw), self.is_whole_file) {
            self.end_of_state()?;
            self.part("lstopo", place);
            self.state = State::Lstopo(tree, place.to_owned());
            return Ok(());
        }
        let said = line::read(&cleaned);
        if let ([Line::File(path)], false) = (&said[..], self.is_whole_file) {
            self.end_of_state()?;
            let (quote, _) = raw.split_once("==").unwrap_or_default();
            quote.clone_into(&mut self.quote);
            self.file(path, place);
            return Ok(());
        }
        if let State::File(path, _) = &self.state {
            let path = path.clone();
            let is_maps = path.ends_with("/numa_maps");
            let is_other = |it: &Line| match it {
                Line::Available | Line::OfProcess(_) => true,
                Line::NumaMaps => !is_maps,
                _ => false,
            };
            let is_prompt = cleaned.starts_with("$ ");
            if self.is_whole_file || !(is_prompt || said.iter().any(is_other)) {
                let raw = raw.strip_prefix(&*self.quote).unwrap_or(raw);
                self.line_of_file(&path, raw);
                return Ok(());
            }
            // Whoever pasted it went on with something else.
            self.end_of_state()?;
        }
        if let State::Cpus(_, list, _) = &mut self.state
            && !cleaned.is_empty()
            && cleaned
                .chars()
                .all(|it| it.is_ascii_digit() || "-, ()".contains(it))
        {
            list.push(',');
            list.push_str(&cleaned);
            return Ok(());
        }
        if matches!(self.state, State::Cpus(..)) {
            self.end_of_state()?;
        }
        if said.is_empty() {
            let is_rest = process_line::is_rest_of_maps(&cleaned);
            if !(is_rest && self.processes.rest_of_maps(&cleaned)) {
                self.row_or_other(&cleaned, place)?;
            }
            return Ok(());
        }
        said.into_iter()
            .try_for_each(|it| self.said(it, &cleaned, place))
    }

    /// A line of a file that is kept as it is.
    fn line_of_file(&mut self, path: &str, raw: &str) {
        let file = self.paste.files.entry(path.to_owned()).or_default();
        file.push_str(raw);
        file.push('\n');
    }

    /// A file follows, or a text from a file that is not of the kernel.
    fn file(&mut self, path: &str, place: &str) {
        let path = path.trim().trim_start_matches('/');
        if is_of_kernel(path) {
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
            State::Lstopo(tree, place) => {
                let remark = tree.tell(&mut self.machine, &place)?;
                self.paste.remarks.extend(remark);
            }
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
            Line::Available => self.available(line, place)?,
            Line::NodeCpus(node, list) => {
                let is_lscpu = line.starts_with("NUMA");
                self.part(
                    if is_lscpu {
                        "lscpu"
                    } else {
                        "numactl --hardware"
                    },
                    place,
                );
                self.end_of_state()?;
                self.state = State::Cpus(node, list, place.to_owned());
            }
            Line::NodeMemory(node, key, bytes) => {
                self.part("numactl --hardware", place);
                self.node_meminfo(node, key, bytes >> 10, true, place)?;
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
                self.node_meminfo(node, &key, value, in_kb, place)?;
            }
            Line::MachineMeminfo(line) => {
                self.part("/proc/meminfo", place);
                self.machine.meminfo(&line);
            }
            Line::Lscpu(key, value) => {
                self.part("lscpu", place);
                self.machine.lscpu(key, &value, place)?;
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
            Line::Pair(size, ns) => {
                if let State::LatMemRd(from, to) = self.state {
                    self.latencies.row((from, to), size, ns);
                }
            }
            Line::NumaMaps => {
                self.part("numa_maps", place);
                self.processes.numa_maps(line, place);
            }
            Line::OfProcess(process) => self.processes.shown_by(line, process, place),
            Line::NotUsed(what) => self.part(&format!("{what}: not used"), place),
            Line::NodeColumns(nodes, in_mb) => self.state = State::Table(Columns { nodes, in_mb }),
            Line::File(_) => {}
        }
        Ok(())
    }

    /// `numactl --hardware` begins.
    fn available(&mut self, line: &str, place: &str) -> Result<(), Error> {
        self.part("numactl --hardware", place);
        self.moments.begin();
        let list = line
            .split_once('(')
            .and_then(|(_, list)| list.split_once(')'));
        match list.map(|(list, _)| list.parse::<NodeSet>()) {
            Some(Ok(nodes)) => self.machine.available(nodes, place),
            _ => Ok(()),
        }
    }

    /// A row of a table, or a line of other text.
    fn row_or_other(&mut self, line: &str, place: &str) -> Result<(), Error> {
        let row = match &self.state {
            State::Table(columns) => tables::row(line, columns).map(|row| (row, columns.in_mb)),
            _ => None,
        };
        match row {
            Some(((name, cells), true)) if name.starts_with("Mem") => {
                self.part("numastat -m", place);
                for (node, mb) in cells {
                    // A row has no negative figure; a cast saturates.
                    let bytes = (mb * MB as f64).round() as u64;
                    self.node_meminfo(node, name, bytes >> 10, true, place)?;
                }
            }
            // Of `numastat -n`, pages in MB.
            Some(((name, cells), true)) if COUNTERS.contains(&&*name.to_ascii_lowercase()) => {
                self.part("numastat -n", place);
                let name = name.to_ascii_lowercase();
                for (node, mb) in cells {
                    let pages = (mb * MB as f64 / SMALL_PAGE_BYTES).round() as u64;
                    self.machine.counter(node, &name, pages);
                }
            }
            Some(((name, cells), false)) if COUNTERS.contains(&name) => {
                self.part("numastat", place);
                for (node, count) in cells {
                    self.machine.counter(node, name, count as u64);
                }
            }
            Some(_) => {}
            None if line.is_empty() || line.chars().all(|it| "-=~ ".contains(it)) => {}
            None if HEADINGS.iter().any(|it| line.starts_with(it)) => {}
            None => self.paste.other_lines += 1,
        }
        Ok(())
    }

    fn node_meminfo(
        &mut self,
        node: NodeId,
        key: &str,
        value: u64,
        in_kb: bool,
        place: &str,
    ) -> Result<(), Error> {
        self.machine.node_meminfo(node, key, value, in_kb, place)?;
        let order = self.order;
        match key {
            // Files of one bundle are of one moment.
            _ if self.is_of_bundle => {}
            "MemFree" if in_kb => {
                self.moments.free(node, value.saturating_mul(1024), place);
            }
            "HugePages_Total" => self.moments.pages(node, (value, u64::MAX), place, order),
            "HugePages_Free" => self.moments.pages(node, (u64::MAX, value), place, order),
            _ => {}
        }
        Ok(())
    }

    /// Names what was recognised, once for each run of it.
    fn part(&mut self, what: &str, place: &str) {
        if self.last_part != what {
            what.clone_into(&mut self.last_part);
            let (what, place) = (what.to_owned(), place.to_owned());
            self.paste.parts.push(PastedPart { what, place });
        }
    }

    fn finish(mut self, names: &str) -> Result<Paste, Error> {
        if self.paste.parts.is_empty() {
            let files = names.to_owned();
            return Err(Error::Nothing { files });
        }
        let paste = &mut self.paste;
        (paste.moments, paste.pools) = self.moments.finish();
        let (latencies, is_broken) = self.latencies.finish();
        paste.latencies = latencies;
        if is_broken {
            let remark = "latencies that were broken off, or cannot be, are left out";
            paste.remarks.push(remark.to_owned());
        }
        let nodes = self.processes.nodes();
        let named = &mut paste.named;
        let written = self.processes;
        let mut processes = written.write(&mut paste.files, &mut paste.remarks, named);
        processes.extend(paste.files.keys().filter_map(|path| of_process(path)));
        paste.processes = processes.into_iter().collect();
        paste.has_cpus = self
            .machine
            .write(&nodes, &mut paste.files, &mut paste.remarks);
        Ok(self.paste)
    }
}

/// numastat multiplies pages by their size, which it does not print: that of most machines.
const SMALL_PAGE_BYTES: f64 = 4096.0;

/// Headings inside of known output, which say nothing of their own.
const HEADINGS: [&str; 4] = [
    "node distances:",
    "\"stride=",
    "depth(MB)",
    "Per-node numastat",
];
