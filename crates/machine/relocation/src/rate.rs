//! How fast this machine moves shared memory, measured on a little of our own with the same steps
//! as `numalab move`, except for the journal.

use std::time::{Duration, Instant};

use linux::map_files::MappedObject;
use linux::proc_maps::ObjectId;
use linux::shared_memory::{Mapping, ObjectKind, SharedMemory};
use linux::shared_memory_file::SharedMemoryFile;
use linux::{Root, capabilities, proc_status};
use model::{NodeId, SegmentKind, Topology};

use super::memory::{Part, PartKind, Source, Stretch};
use super::reader::Reader;
use super::sender::{self, Sent};
use placement::Pattern;

/// Memory moved in one round: a millisecond's worth where one process has it mapped.
const BYTES: u64 = 1 << 20;
/// Rounds at most, and the time after which two valid rounds are enough.
const ROUNDS: usize = 6;
const TIME: Duration = Duration::from_millis(200);
/// Memory is mapped so many times at most: a target of a thousand sessions is no reason to take
/// seconds.
const MAPPINGS_MAX: usize = 64;

/// How fast shared memory in small pages moves, in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MoveRate {
    /// In the slowest round.
    pub least: f64,
    /// In the fastest one.
    pub most: f64,
}

/// The rate for memory that is mapped so many times, since each page table that has a page is
/// changed with it; `None` where this process may not use two
/// nodes, or may not move pages.
pub fn own_rate(root: &Root, topology: &Topology, mappings: usize) -> Option<MoveRate> {
    let allowed = proc_status::allowed(root, std::process::id()).ok()?;
    let nodes = topology.memory_nodes().intersection(&allowed.memory_nodes);
    let mut nodes = nodes.iter();
    let pair = [nodes.next()?, nodes.next()?];
    let page_bytes = linux::process::page_bytes();
    let memory = SharedMemory::create(ObjectKind::Memfd, BYTES as usize, page_bytes).ok()?;
    let file = SharedMemoryFile::of(&memory).ok()?;
    file.write(&vec![1; BYTES as usize], 0).ok()?;
    // What is mapped more than once moves only for whoever may move pages of several processes.
    let of_others = capabilities::may_move_pages_of_others(root);
    let mappings = if of_others { mappings } else { 1 };
    let mappings = mappings.clamp(1, MAPPINGS_MAX);
    let mapped = |_| {
        let mapping = memory.map().ok()?;
        mapping.populate_for_reading().ok()?;
        Some(mapping)
    };
    // The window, through which it moves, is the first.
    let mapped: Vec<Mapping> = (1..mappings).map(mapped).collect::<Option<_>>()?;
    let object = MappedObject::open_to_look(&file.path()).ok()??;
    let stretch = Stretch {
        pid: 0,
        first: 0,
        pages: BYTES / page_bytes,
        address: 0,
    };
    let part = Part {
        name: String::new(),
        kind: PartKind::Segment(SegmentKind::Memfd),
        page_bytes,
        pattern: Pattern::of_one(pair[0]),
        source: Source::Window(ObjectId::default(), object),
        views: Vec::new(),
        stretches: Vec::new(),
    };
    let seconds = try_out(root, &part, &stretch, pair, of_others)?;
    drop(mapped);
    let rates = seconds.iter().filter(|seconds| **seconds > 0.0);
    let rates = rates.map(|seconds| BYTES as f64 / seconds);
    Some(MoveRate {
        least: rates.clone().min_by(f64::total_cmp)?,
        most: rates.max_by(f64::total_cmp)?,
    })
}

/// The seconds of each valid round.
fn try_out(
    root: &Root,
    part: &Part,
    stretch: &Stretch,
    pair: [NodeId; 2],
    of_others: bool,
) -> Option<Vec<f64>> {
    let mut seconds = Vec::new();
    let reader = Reader::new(root);
    let begin = Instant::now();
    for round in 0..ROUNDS {
        let began = Instant::now();
        let chunk = reader.another_pass().read(part, stretch).ok()?;
        let to = pair[round % 2];
        let units: Vec<_> = chunk.units.iter().map(|unit| (*unit, to)).collect();
        let is_there_already = chunk.units.iter().any(|unit| unit.node == to);
        let mut sent = Sent::default();
        sender::send(0, &units, part.page_bytes, of_others, &mut sent).ok()?;
        // A round in which not everything moved is not valid.
        if !is_there_already && sent.bytes == BYTES {
            seconds.push(began.elapsed().as_secs_f64());
        }
        if begin.elapsed() > TIME && seconds.len() > 1 {
            break;
        }
    }
    Some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_takes_two_nodes() {
        let root = Root::live();
        let topology = topology::read(&root).unwrap();
        for mappings in [1, 10] {
            let rate = own_rate(&root, &topology, mappings);
            if topology.memory_nodes().len() < 2 {
                assert_eq!(rate, None);
            }
            // No kernel moves a page faster than its bytes can be copied.
            let is_possible =
                |rate: MoveRate| 0.0 < rate.least && rate.least <= rate.most && rate.most < 1e12;
            assert!(rate.is_none_or(is_possible), "{rate:?}");
        }
    }
}
