//! Carries out a plan by chunks: reads where the pages are, journals and syncs that, moves them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use journal::{Change, Error, Journal};
use linux::{Root, proc_stat};
use model::NodeId;

use super::chunk_log::{ChunkLine, ChunkLog};
use super::claims::Claims;
use super::error::MoveError;
use super::memory::{Part, PartKind, Source, Stretch};
use super::plan::Plan;
use super::reader::{Chunk, ReadError, Reader, Unit};
use super::sender::{self, Sent};
use super::survey::extents;
use super::take_back::PagesMoved;
use super::{policy, reader, sequence};

/// The longest time between two checks whether to stop.
const NAP: Duration = Duration::from_millis(50);
/// Memory that is journalled, synced and moved at once: this much at first, and twice as much after
/// each time that every page moved, because a sync may take as long as moving as much.
const BATCH_BYTES: u64 = 16 << 20;
/// At most this much, which takes a few tenths of a second.
const BATCH_BYTES_MAX: u64 = 256 << 20;
/// With a limit of the rate, as much as may be moved in this part of a second.
const BATCHES_PER_S: u64 = 4;

/// How to move.
pub struct Pace<'a> {
    /// At most this many bytes per second; `None`: no limit.
    pub bytes_per_s: Option<u64>,
    /// Whether pages that several processes have mapped may be moved (`CAP_SYS_NICE`).
    pub of_others: bool,
    /// Whether to stop now.
    pub stop: &'a dyn Fn() -> bool,
    /// Called after each chunk with the bytes of the plan handled so far.
    pub watch: &'a mut dyn FnMut(u64),
}

/// The result of carrying out a plan.
#[derive(Debug, Default)]
pub struct Moved {
    /// Pages, bytes and refusals.
    pub sent: Sent,
    /// Duration in seconds.
    pub seconds: f64,
    /// Processes that ended in the meantime.
    pub ended: BTreeSet<u32>,
    /// Whether all processes of the target have ended.
    pub has_target_ended: bool,
    /// Whether it was interrupted.
    pub is_interrupted: bool,
    /// Segments whose policy was set.
    pub policies_set: u32,
    /// The numbers of the changes in the journal.
    pub entries: Vec<u64>,
}

/// Carries out a plan that was made under the locks. What was moved stays in the journal, for
/// `numalab undo`.
///
/// # Errors
/// When the journal cannot be written or the kernel refuses altogether. What was moved until then
/// is in the journal.
pub fn carry_out(
    root: &Root,
    plan: &Plan,
    _locked: &Claims,
    names: (&str, &str),
    journal: &Journal,
    pace: &mut Pace<'_>,
) -> Result<Moved, MoveError> {
    let (target, to) = names;
    let entry = PagesMoved {
        target: target.to_owned(),
        to: to.to_owned(),
        pids: plan.pids.clone(),
    }
    .record(journal)?;
    let began = Instant::now();
    let mut mover = Mover {
        root,
        reader: Reader::new(root),
        log: ChunkLog::create(journal, entry)?,
        moved: Moved::default(),
        pace,
        pids: &plan.pids,
        began,
        bytes_seen: 0,
        batch_bytes: BATCH_BYTES,
    };
    let outcome = mover.run(plan, journal);
    let mut moved = mover.moved;
    moved.seconds = began.elapsed().as_secs_f64();
    match moved.sent.units {
        0 => journal.mark_undone(entry)?,
        _ => moved.entries.push(entry),
    }
    outcome.map(|()| moved)
}

struct Mover<'a, 'b> {
    root: &'a Root,
    reader: Reader<'a>,
    log: ChunkLog,
    moved: Moved,
    pace: &'a mut Pace<'b>,
    pids: &'a [u32],
    began: Instant,
    bytes_seen: u64,
    batch_bytes: u64,
}

/// How a batch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// What could be moved was moved.
    Done,
    /// Its process has ended, and its memory with it.
    Ended,
    /// A process through which an object was looked at has ended, or its pages may not be moved:
    /// the object must be looked at in another way.
    Again,
}

/// A chunk that was read, with its stretch and the node to which each unit goes.
type Read<'a> = (&'a Stretch, Chunk, Vec<(Unit, NodeId)>);

impl Mover<'_, '_> {
    fn run(&mut self, plan: &Plan, journal: &Journal) -> Result<(), MoveError> {
        for planned in &plan.parts {
            let part = &planned.part;
            // The policy goes first, so that pages allocated in the meantime are where they belong.
            // The extents then include what was allocated since the plan was made.
            let entry = policy::set(journal, part)?;
            self.moved.policies_set += u32::from(entry.is_some());
            self.moved.entries.extend(entry);
            let stretches = match &part.source {
                Source::Window(_, object) => extents(object, part.page_bytes)?,
                _ => part.stretches.clone(),
            };
            let mut rest = &stretches[..];
            while !rest.is_empty() {
                let (together, after) = batch(rest, part.page_bytes, self.batch_bytes());
                rest = after;
                // A segment that we have open outlives its processes, and is of no use then.
                self.moved.has_target_ended = self.has_target_ended();
                self.moved.is_interrupted = (self.pace.stop)();
                if self.moved.has_target_ended || self.moved.is_interrupted {
                    return Ok(());
                }
                if !self.moved.ended.contains(&together[0].pid) {
                    while self.batch(part, together)? == Outcome::Again {}
                }
            }
        }
        Ok(())
    }

    /// How much to move at once now.
    fn batch_bytes(&self) -> u64 {
        let of_rate = self.pace.bytes_per_s.map(|rate| rate / BATCHES_PER_S);
        self.batch_bytes.min(of_rate.unwrap_or(u64::MAX))
    }

    /// Journals, syncs and moves stretches of one process at once.
    fn batch(&mut self, part: &Part, together: &[Stretch]) -> Result<Outcome, MoveError> {
        let pid = together[0].pid;
        let mut read: Vec<Read<'_>> = Vec::new();
        for stretch in together {
            let chunk = match self.reader.read(part, stretch) {
                Ok(chunk) => chunk,
                Err(error) if error.is_of_an_ended_process() => {
                    self.ended(pid);
                    return Ok(Outcome::Ended);
                }
                Err(ReadError::Read(error)) => return Err(error.into()),
                Err(ReadError::SystemCall(error)) => return Err(error.into()),
            };
            self.moved.sent.calls += chunk.calls;
            let wanted = |unit: &Unit| (*unit, part.pattern.node_of(unit.turn));
            let is_elsewhere = |(unit, node): &(Unit, NodeId)| unit.node != *node;
            let units: Vec<_> = chunk
                .units
                .iter()
                .map(wanted)
                .filter(is_elsewhere)
                .collect();
            if !units.is_empty() {
                read.push((stretch, chunk, units));
            }
        }
        if read.is_empty() {
            return Ok(Outcome::Done);
        }
        let lines = read.iter();
        let lines = lines.map(|(stretch, chunk, units)| line(part, stretch, chunk, units));
        self.log.add(&lines.collect::<Vec<_>>())?;
        let outcome = self.send(part, pid, &read)?;
        if outcome != Outcome::Done {
            return Ok(outcome);
        }
        if matches!(part.kind, PartKind::Private { .. }) {
            for (stretch, ..) in &read {
                self.reader.met_again(part, stretch);
            }
        }
        let units = read.iter().flat_map(|(_, _, units)| units);
        let pages: u64 = units.map(|(unit, _)| unit.pages).sum();
        self.bytes_seen += pages * part.page_bytes;
        (self.pace.watch)(self.bytes_seen);
        self.wait();
        Ok(Outcome::Done)
    }

    /// Moves what was read of stretches of process `pid`, or of an object (0), through the process
    /// that showed it.
    fn send(&mut self, part: &Part, pid: u32, read: &[Read<'_>]) -> Result<Outcome, MoveError> {
        let refused_before = self.moved.sent.refused_bytes();
        for of_one in read.chunk_by(|(_, one, _), (_, next, _)| one.pid == next.pid) {
            let through = of_one[0].1.pid;
            let units: Vec<_> = of_one
                .iter()
                .flat_map(|(.., units)| units)
                .copied()
                .collect();
            let (page_bytes, of_others) = (part.page_bytes, self.pace.of_others);
            let sent = &mut self.moved.sent;
            match sender::send(through, &units, page_bytes, of_others, sent) {
                Ok(()) => {}
                Err(_) if through != pid => {
                    self.reader.close(through);
                    return Ok(Outcome::Again);
                }
                Err(error) if ReadError::from_call(&error) => {
                    self.ended(pid);
                    return Ok(Outcome::Ended);
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.batch_bytes = match self.moved.sent.refused_bytes() == refused_before {
            true => (2 * self.batch_bytes).min(BATCH_BYTES_MAX),
            false => BATCH_BYTES,
        };
        Ok(Outcome::Done)
    }

    /// Notes that a process has ended: memory that went with it needs no move.
    fn ended(&mut self, pid: u32) {
        if pid != 0 && !self.runs(pid) {
            self.moved.ended.insert(pid);
        }
    }

    fn has_target_ended(&self) -> bool {
        !self.pids.iter().any(|pid| self.runs(*pid))
    }

    fn runs(&self, pid: u32) -> bool {
        proc_stat::read(self.root, pid).is_ok_and(|it| !it.has_ended)
    }

    /// Waits until the rate allows more, or the move should stop.
    fn wait(&self) {
        let Some(bytes_per_s) = self.pace.bytes_per_s else {
            return;
        };
        let due = Duration::from_secs_f64(self.bytes_seen as f64 / bytes_per_s.max(1) as f64);
        while let Some(left) = due.checked_sub(self.began.elapsed()) {
            if left.is_zero() || (self.pace.stop)() || self.has_target_ended() {
                return;
            }
            std::thread::sleep(left.min(NAP));
        }
    }
}

/// Divides stretches into the first ones of one process, of at most so many bytes, and the others.
fn batch(stretches: &[Stretch], page_bytes: u64, bytes_max: u64) -> (&[Stretch], &[Stretch]) {
    let mut bytes = 0;
    let fits = |stretch: &&Stretch| {
        bytes += stretch.pages * page_bytes;
        stretch.pid == stretches[0].pid && bytes <= bytes_max
    };
    // A stretch, and even a page, may be larger than that.
    let count = stretches.iter().take_while(fits).count();
    stretches.split_at(count.max(1).min(stretches.len()))
}

fn line(part: &Part, stretch: &Stretch, chunk: &Chunk, units: &[(Unit, NodeId)]) -> ChunkLine {
    let from = chunk.nodes(stretch);
    let mut to = from.clone();
    for (unit, node) in units {
        reader::put(&mut to, stretch, unit, *node);
    }
    ChunkLine {
        of: part.owner(),
        page_bytes: part.page_bytes,
        first: stretch.first,
        from: sequence::encode(&from),
        to: sequence::encode(&to),
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

#[cfg(test)]
mod tests {
    use super::{Stretch, batch};

    #[test]
    fn small_stretches_of_one_process_go_together() {
        let stretch = |pid, pages| Stretch {
            pid,
            first: 0,
            pages,
            address: 0,
        };
        let all = [(1, 4000), (1, 96), (1, 1), (2, 5), (2, 4096), (2, 4096)];
        let all: Vec<Stretch> = all.map(|(pid, pages)| stretch(pid, pages)).into();
        let counts = |page_bytes, bytes_max| {
            let (mut rest, mut counts) = (&all[..], Vec::new());
            while !rest.is_empty() {
                let (together, after) = batch(rest, page_bytes, bytes_max);
                counts.push(together.len());
                rest = after;
            }
            counts
        };
        assert_eq!(counts(4096, 16 << 20), [2, 1, 1, 1, 1]);
        assert_eq!(counts(4096, 32 << 20), [3, 2, 1]);
        assert_eq!(counts(1 << 30, 16 << 20), [1; 6]);
        assert_eq!(counts(4096, 0), [1; 6]);
        assert_eq!(batch(&[], 4096, 1).0.len(), 0);
    }
}
