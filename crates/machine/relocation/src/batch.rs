//! A batch: stretches of one process that are read, journalled and synced, ready to be moved.

use std::sync::Arc;

use linux::SystemCallError;
use model::{BytesByNode, NodeId};

use super::chunk::{Chunk, Unit};
use super::chunk_log::{ChunkLine, ChunkLog};
use super::error::MoveError;
use super::memory::{Part, PartKind, Source, Stretch};
use super::reader::Reader;
use super::sender::{self, Full, Sent};
use super::{chunk, sequence};

/// At most this much is moved at once, which takes a few tenths of a second.
pub(super) const BATCH_BYTES_MAX: u64 = 256 << 20;
/// With a limit of the rate, as much as may be moved in this part of a second.
pub(super) const BATCHES_PER_S: u64 = 4;
/// At most so many stretches: a process may have 65,530 mappings (`vm.max_map_count`), and each
/// stretch of an object without views is a mapping of ours while it is moved.
pub(super) const STRETCHES_MAX: usize = 4096;

/// What can be moved. Only [`Preparer::prepare`] makes one, after its lines were synced.
pub(super) struct Batch<'p> {
    pub part: &'p Part,
    pub stretches: &'p [Stretch],
    /// Bytes by node if all of it moves, including what is there already.
    pub then: BytesByNode,
    /// Queries that this took.
    pub calls: u64,
    /// What to move.
    pub to_send: Arc<ToSend>,
    /// Pages that the pass had not met before, if it is of an object of huge pages.
    pub met: Vec<u64>,
    /// What was read of stretches with pages to move: keeps the addresses of this process valid.
    read: Vec<(&'p Stretch, Chunk)>,
}

/// Pages to move.
pub(super) struct ToSend {
    page_bytes: u64,
    /// The process that showed units, and the node to which each goes.
    by_process: Vec<(u32, Vec<(Unit, NodeId)>)>,
}

/// What was sent, and the process through which the kernel refused to move more, and why.
pub(super) type SendOutcome = (Sent, Result<(), (u32, SystemCallError)>);

impl Batch<'_> {
    /// The process whose memory it is; 0: an object.
    pub(super) fn pid(&self) -> u32 {
        self.stretches[0].pid
    }

    /// Whether its stretches hold no page that the pass had not met.
    pub(super) fn is_empty(&self) -> bool {
        self.then.is_empty()
    }
}

impl ToSend {
    /// Bytes to move.
    pub(super) fn bytes(&self) -> u64 {
        let units = self.by_process.iter().flat_map(|(_, units)| units);
        units.map(|(unit, _)| unit.pages * self.page_bytes).sum()
    }

    /// Whether some of it are small pages that are reached through this process. The kernel then
    /// interrupts every CPU on which a thread of ours runs, once for each page: more threads make
    /// it slower.
    pub(super) fn is_small_through_us(&self) -> bool {
        let is_small = self.page_bytes == linux::process::page_bytes();
        is_small && self.by_process.iter().any(|(pid, _)| *pid == 0)
    }

    /// Has the kernel move it, on so many threads, through the processes that showed it; nothing to
    /// nodes that are full.
    pub(super) fn send(&self, threads: usize, of_others: bool, full: &Full) -> SendOutcome {
        let mut sent = Sent {
            full: full.clone(),
            ..Sent::default()
        };
        for (through, units) in &self.by_process {
            let (through, bytes) = (*through, self.page_bytes);
            let outcome =
                sender::send_together(threads, through, units, bytes, of_others, &mut sent);
            if let Err(error) = outcome {
                return (sent, Err((through, error)));
            }
        }
        (sent, Ok(()))
    }
}

/// Makes batches.
pub(super) struct Preparer<'a> {
    pub reader: Reader<'a>,
    pub log: ChunkLog,
}

impl Preparer<'_> {
    /// Reads where the pages of stretches of one process are, journals that and syncs it; `None`
    /// when the process has ended.
    ///
    /// # Errors
    /// When the kernel refuses to say, or the journal cannot be written.
    pub(super) fn prepare<'p>(
        &mut self,
        part: &'p Part,
        stretches: &'p [Stretch],
    ) -> Result<Option<Batch<'p>>, MoveError> {
        let (mut then, mut calls) = (BytesByNode::new(), 0);
        let mut by_process: Vec<(u32, Vec<(Unit, NodeId)>)> = Vec::new();
        let (mut read, mut lines, mut met) = (Vec::new(), Vec::new(), Vec::new());
        for stretch in stretches {
            let chunk = match self.reader.read(part, stretch) {
                Ok(chunk) => chunk,
                Err(error) if error.is_of_an_ended_process() => {
                    self.forget(part, &met);
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            };
            calls += chunk.calls;
            if part.is_huge_object() {
                met.extend(chunk.units.iter().map(|unit| unit.page));
            }
            let mut units = Vec::new();
            for unit in &chunk.units {
                let kind = part.pattern.kind_of(unit.turn);
                let node = part.pattern.node_of_kind(kind, unit.node);
                *then.entry(node).or_default() += unit.pages * part.page_bytes;
                if unit.node != node {
                    units.push((*unit, node));
                }
            }
            if units.is_empty() {
                continue;
            }
            lines.push(line(part, stretch, &chunk, &units));
            match by_process.last_mut().filter(|(pid, _)| *pid == chunk.pid) {
                Some((_, of_process)) => of_process.extend(units),
                None => by_process.push((chunk.pid, units)),
            }
            read.push((stretch, chunk));
        }
        if !lines.is_empty() {
            self.log.add(&lines)?;
        }
        let page_bytes = part.page_bytes;
        Ok(Some(Batch {
            part,
            stretches,
            then,
            calls,
            to_send: Arc::new(ToSend {
                page_bytes,
                by_process,
            }),
            met,
            read,
        }))
    }

    /// Takes huge pages of an object for ones that the pass has not met: the process that showed
    /// them has ended, and another may show them.
    pub(super) fn forget(&mut self, part: &Part, met: &[u64]) {
        if let Source::HugeObject(id, _) = part.source {
            met.iter()
                .for_each(|page| self.reader.huge_pages.forget(id, *page));
        }
    }

    /// Notes where a batch is now that it was moved.
    pub(super) fn met_again(&mut self, batch: &Batch<'_>) {
        if matches!(batch.part.kind, PartKind::Private { .. }) {
            for (stretch, ..) in &batch.read {
                self.reader.met_again(batch.part, stretch);
            }
        }
    }
}

fn line(part: &Part, stretch: &Stretch, chunk: &Chunk, units: &[(Unit, NodeId)]) -> ChunkLine {
    let from = chunk.nodes(stretch);
    let mut to = from.clone();
    for (unit, node) in units {
        chunk::put(&mut to, stretch, unit, *node);
    }
    ChunkLine {
        of: part.owner(),
        page_bytes: part.page_bytes,
        first: stretch.first,
        from: sequence::encode(&from),
        to: sequence::encode(&to),
    }
}
