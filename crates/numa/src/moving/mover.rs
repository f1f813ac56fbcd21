//! Carries a plan out, chunk by chunk: read where the pages are, journal and sync that, move them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use linux::Root;
use model::NodeId;

use super::chunk_log::{ChunkLine, ChunkLog, Owner};
use super::error::MoveError;
use super::memory::{Part, PartKind, Stretch};
use super::plan::Plan;
use super::reader::{Chunk, ReadError, Reader, Unit};
use super::sender::{self, Sent};
use super::{policy, sequence};
use crate::Error;
use crate::journal::{Journal, ObjectWords};

/// The longest time for which nobody asks whether to stop.
const NAP: Duration = Duration::from_millis(50);

/// How to move.
pub struct Pace<'a> {
    /// At most so much in a second; `None`: as fast as it goes.
    pub bytes_per_s: Option<u64>,
    /// Whether pages that several processes have mapped may be moved (`CAP_SYS_NICE`).
    pub of_others: bool,
    /// Whether to stop now.
    pub stop: &'a dyn Fn() -> bool,
    /// Told after each chunk how many bytes of the plan were dealt with.
    pub watch: &'a mut dyn FnMut(u64),
}

/// What came of a plan.
#[derive(Debug, Default)]
pub struct Moved {
    /// Pages, bytes and refusals.
    pub sent: Sent,
    /// Time that it took, in seconds.
    pub seconds: f64,
    /// Processes that ended meanwhile.
    pub ended: BTreeSet<u32>,
    /// Whether it was stopped.
    pub is_interrupted: bool,
    /// Segments whose policy was set.
    pub policies_set: u32,
}

/// Carries out a plan. What was moved stays in the journal, for `numalab undo`.
///
/// # Errors
/// [`Error::AtWork`] when another numalab moves memory of these processes; else when the journal
/// cannot be written or the kernel refuses altogether. What was moved until then is in the journal.
pub fn carry_out(
    root: &Root,
    plan: &Plan,
    names: (&str, &str),
    journal: &Journal,
    pace: &mut Pace<'_>,
) -> Result<Moved, MoveError> {
    let (target, to) = names;
    let entry = journal.record_move(target, to, &plan.pids)?;
    let path = journal.moved_pages(entry);
    let began = Instant::now();
    let mut mover = Mover {
        root,
        reader: Reader::new(root),
        log: ChunkLog::create(path.clone())?,
        moved: Moved::default(),
        pace,
        began,
        bytes_seen: 0,
    };
    let outcome = mover.run(plan, journal);
    let mut moved = mover.moved;
    moved.seconds = began.elapsed().as_secs_f64();
    if moved.sent.units == 0 {
        journal.mark_undone(entry)?;
        // A file without an entry says nothing.
        let _ = std::fs::remove_file(path);
    }
    outcome.map(|()| moved)
}

struct Mover<'a, 'b> {
    root: &'a Root,
    reader: Reader<'a>,
    log: ChunkLog,
    moved: Moved,
    pace: &'a mut Pace<'b>,
    began: Instant,
    bytes_seen: u64,
}

impl Mover<'_, '_> {
    fn run(&mut self, plan: &Plan, journal: &Journal) -> Result<(), MoveError> {
        for planned in &plan.parts {
            // First, so that pages which come meanwhile are where they belong.
            self.moved.policies_set += u32::from(policy::set(journal, &planned.part)?);
            for stretch in &planned.part.stretches {
                if (self.pace.stop)() {
                    self.moved.is_interrupted = true;
                    return Ok(());
                }
                let ended = self.moved.ended.contains(&stretch.pid);
                if planned.bytes_to_move > 0 && !ended {
                    self.chunk(&planned.part, stretch)?;
                }
            }
        }
        Ok(())
    }

    fn chunk(&mut self, part: &Part, stretch: &Stretch) -> Result<(), MoveError> {
        let chunk = match self.reader.read(part, stretch) {
            Ok(chunk) => chunk,
            Err(error) if error.is_of_an_ended_process() => return self.ended(stretch.pid),
            Err(ReadError::Read(error)) => return Err(error.into()),
            Err(ReadError::SystemCall(error)) => return Err(error.into()),
        };
        let units: Vec<(Unit, NodeId)> = chunk
            .units
            .iter()
            .map(|unit| (*unit, part.pattern.node_of(unit.page / unit.pages)))
            .filter(|(unit, node)| unit.node != *node)
            .collect();
        if units.is_empty() {
            return Ok(());
        }
        self.log.add(&line(part, stretch, &chunk, &units))?;
        match sender::send(chunk.pid, &units, part.page_bytes, self.pace.of_others) {
            Ok(sent) => self.moved.sent.add(sent),
            Err(error) if ReadError::from_call(&error) => return self.ended(stretch.pid),
            Err(error) => return Err(error.into()),
        }
        if matches!(part.kind, PartKind::Private { .. }) && !part.is_of_huge_pool() {
            self.reader.met_again(stretch);
        }
        let pages: u64 = units.iter().map(|(unit, _)| unit.pages).sum();
        self.bytes_seen += pages * part.page_bytes;
        (self.pace.watch)(self.bytes_seen);
        self.wait();
        Ok(())
    }

    /// What went with a process needs no place.
    fn ended(&mut self, pid: u32) -> Result<(), MoveError> {
        let ours_alone = pid == 0 || linux::proc_stat::read(self.root, pid).is_ok();
        if !ours_alone {
            self.moved.ended.insert(pid);
        }
        Ok(())
    }

    /// Waits until no more has been moved than the rate allows, or it is to stop.
    fn wait(&self) {
        let Some(bytes_per_s) = self.pace.bytes_per_s else {
            return;
        };
        let due = Duration::from_secs_f64(self.bytes_seen as f64 / bytes_per_s.max(1) as f64);
        while let Some(left) = due.checked_sub(self.began.elapsed()) {
            if left.is_zero() || (self.pace.stop)() {
                return;
            }
            std::thread::sleep(left.min(NAP));
        }
    }
}

fn line(part: &Part, stretch: &Stretch, chunk: &Chunk, units: &[(Unit, NodeId)]) -> ChunkLine {
    let count = stretch.pages as usize;
    let (mut from, mut to) = (vec![None; count], vec![None; count]);
    let fill = |list: &mut [Option<NodeId>], unit: &Unit, node: NodeId| {
        let first = (unit.page - stretch.first) as usize;
        let end = (first + unit.pages as usize).min(list.len());
        list[first..end].fill(Some(node));
    };
    for unit in &chunk.units {
        fill(&mut from, unit, unit.node);
        fill(&mut to, unit, unit.node);
    }
    for (unit, node) in units {
        fill(&mut to, unit, *node);
    }
    ChunkLine {
        of: owner(part),
        page_bytes: part.page_bytes,
        first: stretch.first,
        from: sequence::encode(&from),
        to: sequence::encode(&to),
    }
}

fn owner(part: &Part) -> Owner {
    match (part.object(), part.kind) {
        (Some(id), _) => Owner::Object {
            id: ObjectWords {
                major: id.major,
                minor: id.minor,
                inode: id.inode,
            },
            name: part.name.clone(),
        },
        (None, PartKind::Private { pid, start_ticks }) => Owner::Process { pid, start_ticks },
        (None, PartKind::Segment(_)) => unreachable!("a segment is an object"),
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Read(error) => error.into(),
            ReadError::SystemCall(error) => error.into(),
        }
    }
}
