//! Turns records, in the order of time, into first touches.

use std::collections::{BTreeMap, HashMap};

use linux::page_faults::{FaultHappening, FaultRecord};
use linux::proc_maps::Mapping;
use model::{CpuId, NodeId, Topology};

use crate::address_space::Area;
use crate::page_records::{PageRecord, PageRecords, Touch};
use crate::processes::{Process, Processes};
use crate::segments::Segments;

const NS_PER_MS: u64 = 1_000_000;

/// The size of the pages behind a mapping of a process; the last word is whether the kernel says
/// that they are from a huge-page pool, if it does.
pub(crate) type PageBytesOf = dyn Fn(u32, &Mapping, bool) -> u64;

/// One process on one node touching one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ToucherId {
    /// The process, by index.
    pub process: usize,
    /// The segment, by index.
    pub segment: usize,
    /// The node of its CPU.
    pub node: Option<NodeId>,
}

/// What it touched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touches {
    /// Who and what.
    pub id: ToucherId,
    /// Page faults on pages that another had touched before.
    pub later_faults: u64,
}

/// Everything that was seen.
pub(crate) struct Tracker {
    /// The processes of the target.
    pub processes: Processes,
    /// Their shared memory.
    pub segments: Segments,
    /// The first touches, whose touchers are numbers in `touches`.
    pub pages: PageRecords,
    /// Who touched what.
    pub touches: Vec<Touches>,
    /// Page faults of each process outside of shared memory, by node.
    pub private: BTreeMap<(usize, NodeId), u64>,
    /// Page faults of the target.
    pub faults: u64,
    /// Faults in shared memory that had no room in `pages`.
    pub without_room: u64,
    by_id: HashMap<ToucherId, u32>,
    node_of_cpu: Vec<Option<NodeId>>,
    page_bytes_of: Box<PageBytesOf>,
    /// The start, on the clock of the records.
    pub start_ns: u64,
}

impl Tracker {
    pub(crate) fn new(topology: &Topology, page_bytes_of: Box<PageBytesOf>, start_ns: u64) -> Self {
        let cpus = topology.nodes.iter().flat_map(|node| node.cpus.iter());
        let end = cpus.map(|cpu| cpu.0 as usize + 1).max().unwrap_or(0);
        let node_of = |cpu: usize| topology.node_of_cpu(CpuId(cpu as u32));
        Tracker {
            processes: Processes::default(),
            segments: Segments::default(),
            pages: PageRecords::default(),
            touches: Vec::new(),
            private: BTreeMap::new(),
            faults: 0,
            without_room: 0,
            by_id: HashMap::new(),
            node_of_cpu: (0..end).map(node_of).collect(),
            page_bytes_of,
            start_ns,
        }
    }

    /// Follows a process with the mappings that it has at `now_ns`.
    pub(crate) fn follow(&mut self, process: Process, mappings: &[Mapping]) {
        let Some(index) = self.processes.add(process) else {
            return;
        };
        for mapping in mappings {
            self.map(index, mapping, false);
        }
    }

    /// Takes the next record.
    pub(crate) fn apply(&mut self, record: &FaultRecord) {
        match &record.happening {
            FaultHappening::Fault { pid, address } => self.fault(*pid, *address, record),
            FaultHappening::Forked { pid, parent } => {
                let forked = self.processes.forked(*pid, *parent, record.time_ns);
                if let Some((parent, child)) = forked {
                    self.segments.inherit(parent, child);
                }
            }
            FaultHappening::Mapped {
                pid,
                mapping,
                is_huge,
            } => {
                if let Some(index) = self.news_of(*pid, record) {
                    self.map(index, mapping, *is_huge);
                }
            }
            FaultHappening::Named {
                pid,
                name,
                is_exec,
                is_of_process,
            } => {
                if let (Some(index), true) = (self.news_of(*pid, record), *is_of_process) {
                    self.processes.named(index, name, *is_exec);
                }
            }
            FaultHappening::Ended { pid } => {
                if let Some(index) = self.news_of(*pid, record) {
                    self.processes.ended(index);
                }
            }
            FaultHappening::Lost { .. } => {}
        }
    }

    /// The process of the target that a record is about, unless that was known before.
    fn news_of(&self, pid: u32, record: &FaultRecord) -> Option<usize> {
        let index = self.processes.index(pid)?;
        let since = self.processes.list[index].known_since_ns;
        (record.time_ns >= since).then_some(index)
    }

    fn map(&mut self, index: usize, mapping: &Mapping, is_huge: bool) {
        let process = &mut self.processes.list[index];
        let page_bytes = || (self.page_bytes_of)(process.pid, mapping, is_huge);
        let segment = self.segments.of(mapping, index, page_bytes);
        process.space.map(Area {
            start: mapping.start,
            end: mapping.end,
            segment,
            offset: mapping.offset,
        });
    }

    fn fault(&mut self, pid: u32, address: u64, record: &FaultRecord) {
        let Some(process) = self.processes.index(pid) else {
            return;
        };
        self.faults += 1;
        let node = self.node_of_cpu.get(record.cpu as usize).copied().flatten();
        let Some((segment, offset)) = self.processes.list[process].space.find(address) else {
            if let Some(node) = node {
                *self.private.entry((process, node)).or_default() += 1;
            }
            return;
        };
        let toucher = self.toucher(ToucherId {
            process,
            segment,
            node,
        });
        let time_ms = record.time_ns.saturating_sub(self.start_ns) / NS_PER_MS;
        let page = offset / self.segments.list[segment].page_bytes;
        let first = PageRecord {
            toucher,
            time_ms: u32::try_from(time_ms).unwrap_or(u32::MAX),
        };
        match self.pages.touch(segment, page, first) {
            Touch::First | Touch::Again => {}
            Touch::Later => self.touches[toucher as usize].later_faults += 1,
            Touch::NoRoom => self.without_room += 1,
        }
    }

    fn toucher(&mut self, id: ToucherId) -> u32 {
        let touches = &mut self.touches;
        *self.by_id.entry(id).or_insert_with(|| {
            let later_faults = 0;
            touches.push(Touches { id, later_faults });
            touches.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::TextFile;
    use linux::proc_maps;
    use model::{IdSet, Node};
    use proptest::prelude::*;

    const SEGMENT: &str = "10000-20000 rw-s 00000000 00:01 7    /memfd:pool (deleted)\n";

    fn tracker() -> Tracker {
        let node = |id: u32| Node {
            id: NodeId(id),
            cpus: IdSet::from_iter([CpuId(id)]),
            ..Node::default()
        };
        let topology = Topology {
            nodes: vec![node(0), node(1)],
            ..Topology::default()
        };
        Tracker::new(&topology, Box::new(|_, _, _| 4096), 0)
    }

    fn mapping(line: &str) -> Mapping {
        proc_maps::parse(&TextFile::new("/maps", line)).list[0].clone()
    }

    fn record(time_ns: u64, cpu: u32, happening: FaultHappening) -> FaultRecord {
        FaultRecord {
            time_ns,
            cpu,
            happening,
        }
    }

    fn fault(pid: u32, address: u64) -> FaultHappening {
        FaultHappening::Fault { pid, address }
    }

    fn forked(pid: u32, parent: u32) -> FaultHappening {
        FaultHappening::Forked { pid, parent }
    }

    fn mapped(pid: u32, line: &str) -> FaultHappening {
        FaultHappening::Mapped {
            pid,
            mapping: mapping(line),
            is_huge: false,
        }
    }

    fn apply(tracker: &mut Tracker, records: Vec<(u32, FaultHappening)>) {
        for (at, (cpu, happening)) in records.into_iter().enumerate() {
            tracker.apply(&record(at as u64 + 1, cpu, happening));
        }
    }

    /// Pages of the first segment with the process and node that touched each first.
    fn first_touches(tracker: &Tracker) -> Vec<(u64, u32, u32)> {
        let mut found: Vec<_> = tracker
            .pages
            .of_segment(0)
            .map(|(page, record)| {
                let id = tracker.touches[record.toucher as usize].id;
                let pid = tracker.processes.list[id.process].pid;
                (page, pid, id.node.unwrap().0)
            })
            .collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn a_page_belongs_to_whoever_was_first_at_whatever_address() {
        let mut tracker = tracker();
        tracker.follow(Process::new(7, "a", "a", 0), &[mapping(SEGMENT)]);
        let elsewhere = SEGMENT.replace("10000-20000", "50000-60000");
        let records = vec![
            (0, forked(8, 7)),
            (0, mapped(8, &elsewhere)),
            (0, fault(7, 0x10000)),
            (1, fault(8, 0x50fff)),
            (1, fault(8, 0x51000)),
            (1, fault(8, 0x12000)),
            (0, fault(7, 0x11000)),
            (0, fault(99, 0x13000)),
        ];
        apply(&mut tracker, records);
        let expected = [(0, 7, 0), (1, 8, 1), (2, 8, 1)];
        assert_eq!(first_touches(&tracker), expected);
        let later: Vec<u64> = tracker.touches.iter().map(|it| it.later_faults).collect();
        assert_eq!((later, tracker.faults), (vec![1, 1], 5));
    }

    #[test]
    fn another_program_and_another_mapping_are_other_memory() {
        let mut tracker = tracker();
        tracker.follow(Process::new(7, "a", "a", 0), &[mapping(SEGMENT)]);
        let private = "10000-11000 rw-p 00000000 00:00 0 \n";
        let name = "b".to_owned();
        let exec = FaultHappening::Named {
            pid: 7,
            name,
            is_exec: true,
            is_of_process: true,
        };
        let records = vec![
            (0, mapped(7, private)),
            (0, fault(7, 0x10000)),
            (0, fault(7, 0x11000)),
            (0, exec),
            (1, fault(7, 0x12000)),
        ];
        apply(&mut tracker, records);
        assert_eq!(first_touches(&tracker), [(1, 7, 0)]);
        let private: Vec<_> = tracker.private.into_values().collect();
        assert_eq!(private, [1, 1]);
        assert_eq!(tracker.processes.list[0].class, "b");
    }

    #[test]
    fn an_id_that_is_used_again_is_another_process() {
        let mut tracker = tracker();
        tracker.follow(Process::new(7, "a", "a", 0), &[mapping(SEGMENT)]);
        let end = |pid| FaultHappening::Ended { pid };
        let records = vec![
            (0, forked(8, 7)),
            (0, forked(8, 8)),
            (0, end(8)),
            (0, fault(8, 0x10000)),
            (0, end(8)),
            (0, fault(8, 0x11000)),
            (0, forked(8, 99)),
            (0, fault(8, 0x12000)),
            (0, forked(8, 7)),
            (0, fault(8, 0x13000)),
        ];
        apply(&mut tracker, records);
        assert_eq!(first_touches(&tracker), [(0, 8, 0), (3, 8, 0)]);
        assert_eq!(tracker.processes.list.len(), 3);
    }

    #[test]
    fn what_happened_before_a_process_was_read_is_known() {
        let mut tracker = tracker();
        let known = Process::new(7, "a", "a", 0).known_at(10, 1, Default::default());
        tracker.follow(known, &[mapping(SEGMENT)]);
        let private = "10000-20000 rw-p 00000000 00:00 0 \n";
        for (time_ns, happening) in [
            (5, mapped(7, private)),
            (6, fault(7, 0x10000)),
            (9, forked(7, 1)),
            (12, fault(7, 0x11000)),
            (13, mapped(7, private)),
            (14, fault(7, 0x12000)),
        ] {
            tracker.apply(&record(time_ns, 0, happening));
        }
        assert_eq!(first_touches(&tracker), [(0, 7, 0), (1, 7, 0)]);
    }

    proptest! {
        #[test]
        fn no_records_panic(
            records in prop::collection::vec((0_u8..5, 0_u32..4, 0_u32..4, any::<u64>()), 0..200),
        ) {
            let mut tracker = tracker();
            tracker.follow(Process::new(1, "a", "a", 0), &[]);
            for (time_ns, (kind, pid, parent, address)) in records.into_iter().enumerate() {
                let mut any = mapping(SEGMENT);
                any.start = (address % 8) << 16;
                any.end = any.start.saturating_add(address >> 3).max(any.start + 1);
                any.offset = address;
                let happening = match kind {
                    0 => fault(pid, address % (1 << 20)),
                    1 => forked(pid, parent),
                    2 => FaultHappening::Ended { pid },
                    3 => FaultHappening::Mapped { pid, mapping: any, is_huge: false },
                    _ => FaultHappening::Named {
                        pid,
                        name: String::new(),
                        is_exec: parent == 0,
                        is_of_process: true,
                    },
                };
                tracker.apply(&record(time_ns as u64, parent, happening));
            }
            let first: u64 = tracker.pages.of_segment(0).count() as u64;
            prop_assert!(first <= tracker.faults);
        }
    }
}
