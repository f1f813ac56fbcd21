//! Residency from numa_maps, where frame numbers are not available: a lower bound. Each process
//! shows only what it has mapped itself, so for an object the largest figure of any process counts,
//! node by node; adding them up would count pages twice.

use std::collections::{BTreeMap, BTreeSet};

use linux::proc_maps::{Mapping, ObjectId};
use linux::{Root, TextFile};
use model::{BytesByNode, NodeId, NodeSet, SegmentKind};

use super::gaps::Gaps;
use super::kind::kind_of;
use super::tally::{Area, Span, Tally, add_bytes, max_bytes};
use crate::instances::Member;
use crate::numa_maps::{self, NumaMapsLine};

/// The most bytes that all processes together can plausibly have: 10,000 processes that map all of
/// 48 TiB come to half of it, and no sum of smaller values overflows.
const BYTES_MAX: u64 = 1 << 60;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Objects.
    pub segments: Vec<Tally>,
    /// Private memory of each process that was read.
    pub private: BTreeMap<u32, BytesByNode>,
    /// What each process has mapped of shared memory.
    pub touched: BTreeMap<u32, BytesByNode>,
    /// What each process has mapped of areas whose policy names one node.
    pub touched_pools: BTreeMap<u32, BytesByNode>,
    /// What each process has mapped as transparent huge pages, where the kernel reports it.
    pub transparent_huge: BTreeMap<u32, u64>,
    /// Private memory of each process that is swapped out.
    pub swapped_bytes: BTreeMap<u32, u64>,
}

/// Whether the file is missing although the process exists.
fn is_running_without(root: &Root, pid: u32, error: &linux::Error) -> bool {
    let linux::Error::Read { cause, .. } = error else {
        return false;
    };
    let is_absent = cause.kind() == std::io::ErrorKind::NotFound;
    is_absent && linux::proc_stat::read(root, pid).is_ok()
}

/// Identifies an object: by its id where maps could be read, else by name and address, which
/// processes of one instance share (forked servers, and Oracle by its own arrangement).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Object(ObjectId),
    NameAt(String, u64),
}

/// A part of an object that is one mapping in some process.
#[derive(Default)]
struct Piece {
    policy: String,
    bytes_by_node: BytesByNode,
}

#[derive(Default)]
struct Object {
    name: String,
    kind: SegmentKind,
    page_bytes: Option<u64>,
    pids: BTreeSet<u32>,
    pieces: BTreeMap<Span, Piece>,
}

/// Reads the numa_maps of all processes.
pub(super) fn read(
    root: &Root,
    members: &[Member],
    default_huge_page_bytes: Option<u64>,
    page_bytes: u64,
    gaps: &mut Gaps,
) -> Found {
    let mut reading = Reading {
        default_huge_page_bytes,
        page_bytes,
        // Without directories, nothing says which nodes there are.
        nodes: linux::sysfs_nodes::with_directory(root)
            .ok()
            .filter(|nodes| !nodes.is_empty()),
        ..Reading::default()
    };
    for member in members {
        let pid = member.stat.pid;
        if member.stat.lacks_first_thread {
            gaps.lacks_first_thread(pid);
            continue;
        }
        let file = match root.read_lossy(&format!("proc/{pid}/numa_maps")) {
            Ok(file) => file,
            Err(error) => {
                if is_running_without(root, pid, &error) {
                    gaps.add(format!(
                        "process {pid} has no numa_maps: the kernel was built without NUMA, or it \
                         was not captured"
                    ));
                } else {
                    gaps.process(pid, &error);
                }
                continue;
            }
        };
        if let Ok(Some(sums)) = linux::proc_smaps::rollup(root, pid) {
            let swapped = &mut reading.found.swapped_bytes;
            swapped.insert(pid, sums.swapped_bytes);
            let huge = sums.transparent_huge_bytes;
            reading.found.transparent_huge.insert(pid, huge);
        }
        let maps = linux::proc_maps::read(root, pid)
            .map(|maps| maps.list)
            .unwrap_or_default();
        let maps: BTreeMap<u64, Mapping> = maps.into_iter().map(|map| (map.start, map)).collect();
        reading.found.private.insert(pid, BytesByNode::new());
        reading.found.touched.insert(pid, BytesByNode::new());
        reading.found.touched_pools.insert(pid, BytesByNode::new());
        reading.file(pid, &file, &maps, gaps);
    }
    reading.finish()
}

#[derive(Default)]
struct Reading {
    /// The nodes of the machine; `None` where they are not known.
    nodes: Option<NodeSet>,
    default_huge_page_bytes: Option<u64>,
    page_bytes: u64,
    /// Bytes of all lines so far.
    bytes: u64,
    objects: BTreeMap<Key, Object>,
    /// Private memory that several processes share since a fork, by address.
    shared_since_fork: BTreeMap<u64, (u32, BytesByNode)>,
    found: Found,
}

impl Reading {
    /// Takes pages on nodes that the machine does not have out of a line; returns these nodes.
    fn leave_out_strange_nodes(&self, line: &mut NumaMapsLine) -> Option<NodeSet> {
        let nodes = self.nodes.as_ref()?;
        let has = |node: &NodeId| nodes.contains(*node);
        if line.pages_by_node.keys().all(has) {
            return None;
        }
        let all = line.pages_by_node.keys().copied();
        let strange = all.filter(|node| !has(node)).collect();
        line.pages_by_node.retain(|node, _| has(node));
        Some(strange)
    }

    /// Counts the lines of one process, but for those that no kernel writes.
    fn file(&mut self, pid: u32, file: &TextFile, maps: &BTreeMap<u64, Mapping>, gaps: &mut Gaps) {
        let mut seen = BTreeSet::new();
        for (number, line) in file.lines() {
            let mut say = |what: &str| {
                gaps.add(format!("{}, line {number}: {what}", file.path().display()));
            };
            let mut parsed = match numa_maps::parse_line(line) {
                Ok(parsed) => parsed,
                Err(error) => {
                    say(&error.to_string());
                    continue;
                }
            };
            if !seen.insert(parsed.address) {
                let address = parsed.address;
                say(&format!(
                    "{address:x} was listed before; this line is not counted"
                ));
                continue;
            }
            if let Some(strange) = self.leave_out_strange_nodes(&mut parsed) {
                say(&format!(
                    "this machine has no node {strange}; what is listed there is not counted"
                ));
            }
            if parsed.kernel_page_bytes == Some(0) && parsed.pages() > 0 {
                say("pages of 0 bytes; this line is not counted");
                continue;
            }
            let mapping = maps.get(&parsed.address);
            self.line(pid, &parsed, mapping, gaps);
        }
    }

    fn line(&mut self, pid: u32, line: &NumaMapsLine, mapping: Option<&Mapping>, gaps: &mut Gaps) {
        let page_bytes = match (line.kernel_page_bytes, line.huge) {
            (Some(bytes), _) => bytes,
            // Kernels before 3.10 and captures of them: only the default size is known.
            (None, true) => match self.default_huge_page_bytes {
                Some(bytes) => bytes,
                None if line.pages() == 0 => 0,
                None => {
                    gaps.add("the size of huge pages is not known");
                    return;
                }
            },
            (None, false) => self.page_bytes,
        };
        let bytes_by_node: BytesByNode = line
            .pages_by_node
            .iter()
            .map(|(node, pages)| (*node, pages.saturating_mul(page_bytes)))
            .collect();
        let mut bytes = bytes_by_node.values().copied();
        match bytes.try_fold(self.bytes, u64::checked_add) {
            Some(bytes) if bytes <= BYTES_MAX => self.bytes = bytes,
            _ => {
                gaps.add(format!(
                    "a line of numa_maps of process {pid} counts more memory than machines have"
                ));
                return;
            }
        }
        let is_anonymous = line.anonymous_pages > 0 && line.anonymous_pages >= line.pages();
        match &line.file {
            Some(name) if mapping.map_or(!is_anonymous, |map| map.is_shared) || !is_anonymous => {
                self.object(pid, line, name, mapping, page_bytes, &bytes_by_node);
            }
            _ => self.private(pid, line, bytes_by_node),
        }
    }

    fn object(
        &mut self,
        pid: u32,
        line: &NumaMapsLine,
        name: &str,
        mapping: Option<&Mapping>,
        page_bytes: u64,
        bytes_by_node: &BytesByNode,
    ) {
        let is_executable = mapping.is_some_and(|mapping| mapping.is_executable);
        let kind = kind_of(name, is_executable, line.huge);
        let key = match mapping.filter(|mapping| mapping.has_object()) {
            Some(mapping) => Key::Object(mapping.object),
            None => Key::NameAt(name.to_owned(), line.address),
        };
        let span = mapping.map_or(
            // Without maps the length is unknown; it is at least that of its pages.
            Span {
                start: 0,
                end: bytes_by_node.values().sum(),
            },
            |mapping| Span {
                start: mapping.offset,
                end: mapping.offset.saturating_add(mapping.bytes()),
            },
        );
        let is_known = mapping.is_some();
        let object = self.objects.entry(key).or_insert_with(|| Object {
            name: name.to_owned(),
            kind,
            ..Object::default()
        });
        if is_executable && !object.kind.is_shared_memory() {
            object.kind = SegmentKind::ProgramText;
        }
        object.pids.insert(pid);
        if line.pages() > 0 {
            object.page_bytes = Some(page_bytes);
        }
        let key = if is_known {
            span
        } else {
            Span {
                start: 0,
                end: u64::MAX,
            }
        };
        let piece = object.pieces.entry(key).or_default();
        piece.policy.clone_from(&line.policy);
        max_bytes(&mut piece.bytes_by_node, bytes_by_node);
        if object.kind.is_shared_memory() {
            add_bytes(self.found.touched.entry(pid).or_default(), bytes_by_node);
            if super::layout::node_of_pool(&line.policy).is_some() {
                add_bytes(
                    self.found.touched_pools.entry(pid).or_default(),
                    bytes_by_node,
                );
            }
        }
    }

    /// Memory that only one process has counts as its private memory. Of memory shared since a
    /// fork, the most that any process has at the address counts once.
    fn private(&mut self, pid: u32, line: &NumaMapsLine, bytes_by_node: BytesByNode) {
        if line.mapped_by_most > 1 {
            let shared = self.shared_since_fork.entry(line.address);
            let (_, most) = shared.or_insert_with(|| (pid, BytesByNode::new()));
            max_bytes(most, &bytes_by_node);
        } else {
            add_bytes(self.found.private.entry(pid).or_default(), &bytes_by_node);
        }
    }

    fn finish(mut self) -> Found {
        for (pid, bytes) in self.shared_since_fork.into_values() {
            add_bytes(self.found.private.entry(pid).or_default(), &bytes);
        }
        let tallies = self.objects.into_iter().map(|(key, object)| Tally {
            object: match key {
                Key::Object(id) => Some(id),
                Key::NameAt(..) => None,
            },
            ..object.into_tally()
        });
        self.found.segments = tallies.collect();
        self.found
    }
}

impl Object {
    /// Pieces of different processes may overlap; the largest of them then stands for all, which
    /// again is a lower bound.
    fn into_tally(self) -> Tally {
        let mut tally = Tally {
            name: self.name,
            kind: self.kind,
            page_bytes: self.page_bytes,
            pids: self.pids,
            ..Tally::default()
        };
        let mut pieces: Vec<(Span, Piece)> = self.pieces.into_iter().collect();
        let bytes = |piece: &Piece| piece.bytes_by_node.values().sum::<u64>();
        pieces.sort_by_key(|(span, piece)| (std::cmp::Reverse(bytes(piece)), *span));
        let mut chosen: Vec<(Span, Piece)> = Vec::new();
        for (span, piece) in pieces {
            let overlaps = |other: &Span| span.start < other.end && other.start < span.end;
            if !chosen.iter().any(|(other, _)| overlaps(other)) {
                chosen.push((span, piece));
            }
        }
        chosen.sort_by_key(|(span, _)| *span);
        for (index, (span, piece)) in chosen.into_iter().enumerate() {
            let is_known = span.end != u64::MAX;
            let end = if is_known { span.end } else { bytes(&piece) };
            let span = Span {
                start: span.start,
                end: end.max(span.start),
            };
            tally.spans.insert(span);
            tally.areas.push(Area {
                span,
                policy: piece.policy,
            });
            for (node, bytes) in piece.bytes_by_node {
                tally.add(index, node, bytes);
            }
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use linux::proc_stat;

    use super::*;

    #[test]
    fn memory_that_processes_share_since_a_fork_counts_once() {
        let directory = tempfile::tempdir().unwrap();
        // The child has let go of a page of what both have, on node 1.
        for (pid, shared, own) in [(7, "N0=6 N1=2", "N0=4"), (8, "N0=6 N1=1", "N1=3")] {
            let maps = format!(
                "7f0000000000 default anon=8 dirty=8 mapmax=2 {shared} kernelpagesize_kB=4\n\
                 7f1000000000 default anon=4 dirty=4 {own} kernelpagesize_kB=4\n"
            );
            let of_process = directory.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&of_process).unwrap();
            std::fs::write(of_process.join("numa_maps"), maps).unwrap();
            let stat = format!("{pid} (server) S 1 1 1 0 -1 0 {}", "0 ".repeat(40));
            std::fs::write(of_process.join("stat"), stat).unwrap();
        }
        let root = Root::at(directory.path()).unwrap();
        let member = |pid| Member {
            stat: proc_stat::read(&root, pid).unwrap(),
            class: String::new(),
            server: None,
        };
        let members = [member(7), member(8)];
        let found = read(&root, &members, None, 4096, &mut Gaps::default());
        let mut all = BytesByNode::new();
        for bytes in found.private.values() {
            add_bytes(&mut all, bytes);
        }
        let pages = |pages: u64| pages * 4096;
        let expected = [(NodeId(0), pages(10)), (NodeId(1), pages(5))];
        assert_eq!(all, BytesByNode::from(expected));
    }
}
