//! How fast this machine moves shared memory, measured on a little of our own with the same steps
//! as `numalab move`, except for the journal.

use std::time::{Duration, Instant};

use linux::map_files::MappedObject;
use linux::proc_maps::ObjectId;
use linux::shared_memory::{ObjectKind, SharedMemory};
use linux::shared_memory_file::SharedMemoryFile;
use linux::{Root, proc_status};
use model::{NodeId, SegmentKind, Topology};

use super::memory::{Part, PartKind, Source, Stretch};
use super::reader::Reader;
use super::sender::{self, Sent};
use placement::Pattern;

/// Memory moved in one round: a millisecond's worth or two.
const BYTES: u64 = 2 << 20;
/// Rounds at most, and the time after which one valid round is enough.
const ROUNDS: usize = 6;
const TIME: Duration = Duration::from_millis(200);

/// Bytes of shared memory in small pages that can be moved in a second at most, where one process
/// has them mapped; `None` where this process may not use two nodes, or may not move pages.
pub fn own_bytes_per_s(root: &Root, topology: &Topology) -> Option<f64> {
    let allowed = proc_status::allowed(root, std::process::id()).ok()?;
    let nodes = topology.memory_nodes().intersection(&allowed.memory_nodes);
    let mut nodes = nodes.iter();
    let pair = [nodes.next()?, nodes.next()?];
    let page_bytes = linux::process::page_bytes();
    let memory = SharedMemory::create(ObjectKind::Memfd, BYTES as usize, page_bytes).ok()?;
    let file = SharedMemoryFile::of(&memory).ok()?;
    file.write(&vec![1; BYTES as usize], 0).ok()?;
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
    try_out(root, &part, &stretch, pair)
}

fn try_out(root: &Root, part: &Part, stretch: &Stretch, pair: [NodeId; 2]) -> Option<f64> {
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
        sender::send(0, &units, part.page_bytes, false, &mut sent).ok()?;
        // A round in which not everything moved is not valid.
        if !is_there_already && sent.bytes == BYTES {
            seconds.push(began.elapsed().as_secs_f64());
        }
        if begin.elapsed() > TIME && !seconds.is_empty() {
            break;
        }
    }
    // Other activity only makes it longer.
    let least = seconds.into_iter().min_by(f64::total_cmp);
    let least = least.filter(|seconds| *seconds > 0.0);
    least.map(|seconds| BYTES as f64 / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_takes_two_nodes() {
        let root = Root::live();
        let topology = topology::read(&root).unwrap();
        let rate = own_bytes_per_s(&root, &topology);
        if topology.memory_nodes().len() < 2 {
            assert_eq!(rate, None);
        }
        // No kernel moves a page faster than its bytes can be copied.
        assert!(
            rate.is_none_or(|rate| rate > 0.0 && rate < 1e12),
            "{rate:?}"
        );
    }
}
