//! Moves pages back: those that still are where they were sent go where they were before.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::iter::Peekable;
use std::ops::Range;
use std::thread::sleep;
use std::time::{Duration, Instant};

use journal::{Change, Error, Journal, Presence, ProcessIdentity, TakeBack, Thing};
use linux::Root;
use linux::proc_maps::ObjectId;
use model::{ByteSize, NodeId};
use serde::{Deserialize, Serialize};

use super::batch::{BATCH_BYTES_MAX, BATCHES_PER_S, STRETCHES_MAX};
use super::chunk::{Chunk, Unit};
use super::chunk_log::{self, ChunkLine};
use super::memory::Source;
use super::reach::Reach;
use super::read_error::ReadError;
use super::reader::Reader;
use super::sender::{self, Sent};
use super::sequence;
use super::sequence::Sequence;

/// Pages were moved; a list beside the journal says which ones, and from where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PagesMoved {
    /// The target, as the user named it.
    pub target: String,
    /// The destination, as the user gave it.
    pub to: String,
    /// Its processes.
    pub pids: Vec<u32>,
}

impl Display for PagesMoved {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "memory of {} moved to {}", self.target, self.to)
    }
}

impl Change for PagesMoved {
    const KIND: &'static str = "pages-moved";

    fn things(&self, journal: &Journal, entry: u64) -> Result<BTreeSet<Thing>, Error> {
        chunk_log::things(journal, entry)
    }

    /// It names no file to write: memory is identified by its object or process.
    fn presence(&self, _: &ProcessIdentity) -> Result<Presence, Error> {
        Ok(Presence::There)
    }

    /// Moves the pages back, the last chunk first. May be interrupted: a page that is already back
    /// stays.
    fn take_back(&self, how: &TakeBack<'_>) -> Result<Option<String>, Error> {
        let lines = chunk_log::read(how.journal, how.entry)?;
        chunks(lines.iter().rev(), how, &self.to_string())
    }
}

/// Moves the pages of these chunks back, neighbouring ones together; `change` names what sent them.
///
/// # Errors
/// As [`Change::take_back`].
pub(super) fn chunks<'a>(
    lines: impl Iterator<Item = &'a ChunkLine>,
    how: &TakeBack<'_>,
    change: &str,
) -> Result<Option<String>, Error> {
    let mut back = Back::default();
    let reader = Reader::new(how.root);
    let mut owners = BTreeMap::new();
    let mut lines = lines.map(Line::of).peekable();
    let begun = Instant::now();
    let bytes_max = how.bytes_per_s.map_or(BATCH_BYTES_MAX, |rate| {
        (rate / BATCHES_PER_S).min(BATCH_BYTES_MAX)
    });
    let mut bytes_before = 0_u64;
    while let Some(together) = next_together(&mut lines, bytes_max) {
        if let Some(rate) = how.bytes_per_s {
            let due = Duration::from_secs_f64(bytes_before as f64 / rate.max(1) as f64);
            sleep(due.saturating_sub(begun.elapsed()));
        }
        bytes_before += together.iter().map(Line::bytes).sum::<u64>();
        let of = together[0].of;
        let reach = match owners.entry(format!("{:?} {}", of.of, of.page_bytes)) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(place) => place.insert(Reach::find(how.root, of)?),
        };
        // A separate pass each time: a page that was moved twice is moved back twice.
        let pass = reader.another_pass();
        if let Some(reach) = reach {
            let mut group = Group {
                lines: &together,
                reach,
                reader: pass,
                is_forced: how.force,
            };
            group.take_back(how.root, &mut back)?;
        }
    }
    match back.complaint(how.force) {
        Some(reason) => Err(Error::Undo {
            change: change.to_owned(),
            reason,
        }),
        None => Ok(back.remains()),
    }
}

/// A chunk: the node of each of its pages before it was moved, and after.
struct Line<'a> {
    of: &'a ChunkLine,
    from: Sequence,
    to: Sequence,
}

impl<'a> Line<'a> {
    fn of(line: &'a ChunkLine) -> Self {
        let decode = |text: &str| sequence::decode(text).unwrap_or_default();
        Line {
            of: line,
            from: decode(&line.from),
            to: decode(&line.to),
        }
    }

    fn bytes(&self) -> u64 {
        self.from.len() as u64 * self.of.page_bytes
    }

    fn pages(&self) -> Range<u64> {
        self.of.first..self.of.first + self.from.len() as u64
    }
}

/// The next lines that can be taken back together: of one owner, with no page twice, and as much as
/// may be moved together.
fn next_together<'a>(
    lines: &mut Peekable<impl Iterator<Item = Line<'a>>>,
    bytes_max: u64,
) -> Option<Vec<Line<'a>>> {
    let first = lines.next()?;
    let (of, mut extent) = (first.of, first.pages());
    let bytes_of = |pages: &Range<u64>| (pages.end - pages.start) * of.page_bytes;
    let mut bytes = bytes_of(&extent);
    let mut together = vec![first];
    while together.len() < STRETCHES_MAX {
        let fits = |line: &Line<'_>| {
            let pages = line.pages();
            line.of.of == of.of
                && line.of.page_bytes == of.page_bytes
                && (pages.end <= extent.start || pages.start >= extent.end)
                && bytes.saturating_add(bytes_of(&pages)) <= bytes_max
        };
        let Some(next) = lines.next_if(fits) else {
            break;
        };
        let pages = next.pages();
        bytes += bytes_of(&pages);
        extent = extent.start.min(pages.start)..extent.end.max(pages.end);
        together.push(next);
    }
    Some(together)
}

/// The result of moving pages back.
#[derive(Debug, Default)]
struct Back {
    /// Pages that are no longer in memory need no move.
    sent: Sent,
    /// Bytes that are neither where we had put them nor where they were before.
    bytes_moved_by_others: u64,
    /// Huge pages that no process shows, with their bytes.
    not_shown: BTreeMap<(ObjectId, u64), u64>,
}

impl Back {
    /// Adds what came of others.
    fn add(&mut self, other: Back) {
        self.sent.add(other.sent);
        self.bytes_moved_by_others += other.bytes_moved_by_others;
        self.not_shown.extend(other.not_shown);
    }

    fn bytes_not_shown(&self) -> ByteSize {
        ByteSize(self.not_shown.values().sum())
    }

    /// Why the change stays in the journal. With `--force`, huge pages that no process shows are
    /// given up.
    fn complaint(&self, is_forced: bool) -> Option<String> {
        let mut reasons = Vec::new();
        if self.bytes_moved_by_others > 0 {
            let bytes = ByteSize(self.bytes_moved_by_others);
            reasons.push(format!("another process has moved {bytes} of it since"));
        }
        if !self.not_shown.is_empty() && !is_forced {
            let bytes = self.bytes_not_shown();
            reasons.push(format!(
                "no process shows {bytes} of huge pages; repeat this when one has used them"
            ));
        }
        for (number, bytes) in &self.sent.refused {
            let (bytes, why) = (ByteSize(*bytes), sender::reason(*number));
            reasons.push(format!("{bytes} stay where they are: {why}"));
        }
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    /// What stays although the change leaves the journal.
    fn remains(&self) -> Option<String> {
        let bytes = self.bytes_not_shown();
        (bytes.0 > 0).then(|| format!("{bytes} of huge pages that no process shows stay"))
    }
}

/// Lines that are taken back together.
struct Group<'a> {
    lines: &'a [Line<'a>],
    reach: &'a mut Reach,
    reader: Reader<'a>,
    is_forced: bool,
}

/// What could not be sent through the process that showed it.
#[derive(Default)]
struct Lost {
    /// Pages that the process has no more.
    units: Vec<(Unit, NodeId)>,
    /// Whether a process has ended.
    has_one_ended: bool,
    /// Processes that do not show an object of small pages any more, or whose pages may not be
    /// moved.
    views: BTreeSet<u32>,
}

/// Pages to send back, by the process through which they are reached.
type ByProcess = BTreeMap<u32, Vec<(Unit, NodeId)>>;

impl Group<'_> {
    fn take_back(&mut self, root: &Root, back: &mut Back) -> Result<(), Error> {
        let mut lost_before = usize::MAX;
        loop {
            let mut pass = Back::default();
            let (by_process, _read) = self.read(&mut pass)?;
            let lost = self.send(root, by_process, &mut pass.sent)?;
            match self.reach.part.source {
                // They are looked at again in another way, which counts what came of them.
                Source::Window(..) if !lost.views.is_empty() => {
                    let views = &mut self.reach.part.views;
                    views.retain(|view| !lost.views.contains(&view.pid));
                }
                Source::Window(..) | Source::Process => {
                    back.add(pass);
                    return Ok(());
                }
                // Another process may still show huge pages that this one lost while they were
                // moved (see `Mover::lost`).
                Source::HugeObject(id, _) => {
                    back.add(pass);
                    for (unit, _) in &lost.units {
                        self.reader.huge_pages.forget(id, unit.page);
                    }
                    let count = lost.units.len();
                    if count == 0 || count >= lost_before && !lost.has_one_ended {
                        self.count_those_not_shown(id, back);
                        return Ok(());
                    }
                    lost_before = count;
                }
            }
        }
    }

    /// Sends pages back through the processes that showed them, small ones on more than one thread
    /// where that is faster (see `ToSend::is_small_through_us`).
    ///
    /// # Errors
    /// When the kernel refuses, and nothing else may show them.
    fn send(&mut self, root: &Root, units: ByProcess, sent: &mut Sent) -> Result<Lost, Error> {
        let of_others = linux::capabilities::may_move_pages_of_others(root);
        let page_bytes = self.reach.part.page_bytes;
        let mut lost = Lost::default();
        for (pid, units) in units {
            let is_view = pid != 0 && matches!(self.reach.part.source, Source::Window(..));
            let threads = match pid {
                0 => 1,
                _ => sender::threads(root, page_bytes),
            };
            let outcome = sender::send_together(threads, pid, &units, page_bytes, of_others, sent);
            let gone = std::mem::take(&mut sent.gone);
            match outcome {
                _ if is_view && (outcome.is_err() || !gone.is_empty()) => {
                    lost.views.insert(pid);
                }
                Err(error) if ReadError::from_call(&error) => {
                    if let Some(processes) = &mut self.reach.processes {
                        processes.retain(|view| view.pid != pid);
                    }
                    lost.has_one_ended = true;
                    lost.units.extend(units);
                }
                Err(error) => return Err(error.into()),
                Ok(()) => {}
            }
            lost.units.extend(gone);
        }
        Ok(lost)
    }

    /// Counts huge pages that should go back and that no process shows: the one that was left with
    /// their page table may have ended. Our own mapping shows all that there are.
    fn count_those_not_shown(&self, id: ObjectId, back: &mut Back) {
        if self.reach.processes.is_none() {
            return;
        }
        for line in self.lines {
            let nodes = line.from.iter().zip(&line.to);
            let not_shown = line.pages().zip(nodes).filter(|(page, (from, to))| {
                from.is_some() && from != to && !self.reader.huge_pages.has(id, *page)
            });
            // A page that was sent through one process after another has two lines, and one place.
            let not_shown = not_shown.map(|(page, _)| ((id, page), line.of.page_bytes));
            back.not_shown.extend(not_shown);
        }
    }

    /// Where the pages are now that have to go back, and what keeps their addresses valid.
    fn read(&mut self, back: &mut Back) -> Result<(ByProcess, Vec<Chunk>), Error> {
        let (mut by_process, mut read) = (ByProcess::new(), Vec::new());
        for line in self.lines {
            for stretch in self.reach.stretches(&line.pages()) {
                let chunk = match self.reader.read(&self.reach.part, &stretch) {
                    Ok(chunk) => chunk,
                    Err(error) if error.is_of_an_ended_process() => continue,
                    Err(error) => return Err(error.into()),
                };
                if chunk.units.is_empty() {
                    continue;
                }
                // It may be the only one that shows them, and be asked first from now on.
                if let Some(processes) = &mut self.reach.processes {
                    processes.sort_by_key(|view| view.pid != chunk.pid);
                }
                let wanted = |unit: &Unit| Some((*unit, self.wanted(line, unit, back)?));
                let units: Vec<_> = chunk.units.iter().filter_map(wanted).collect();
                by_process.entry(chunk.pid).or_default().extend(units);
                read.push(chunk);
            }
        }
        by_process.retain(|_, units| !units.is_empty());
        Ok((by_process, read))
    }

    /// The node to which a page has to go back; `None` if it stays.
    fn wanted(&self, line: &Line<'_>, unit: &Unit, back: &mut Back) -> Option<NodeId> {
        let index = unit.page.checked_sub(line.of.first)? as usize;
        // Where it is not known where a page was sent, it is sent back from anywhere.
        let (from, to) = ((*line.from.get(index)?)?, *line.to.get(index)?);
        if to == Some(from) || unit.node == from {
            return None;
        }
        if to.is_some_and(|to| to != unit.node) && !self.is_forced {
            back.bytes_moved_by_others += unit.pages * line.of.page_bytes;
            return None;
        }
        Some(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::owner::Owner;

    fn line(pid: u32, first: u64, pages: usize, page_bytes: u64) -> ChunkLine {
        ChunkLine {
            of: Owner::Process {
                pid,
                start_ticks: 8,
            },
            page_bytes,
            first,
            from: sequence::encode(&vec![Some(NodeId(0)); pages]),
            to: sequence::encode(&vec![Some(NodeId(1)); pages]),
        }
    }

    fn counted(lines: &[ChunkLine]) -> usize {
        counted_of(lines, BATCH_BYTES_MAX)
    }

    fn counted_of(lines: &[ChunkLine], bytes_max: u64) -> usize {
        let mut lines = lines.iter().map(Line::of).peekable();
        next_together(&mut lines, bytes_max).map_or(0, |together| together.len())
    }

    #[test]
    fn lines_of_one_owner_with_no_page_twice_go_together() {
        let small = |pid, first| line(pid, first, 512, 4096);
        assert_eq!(counted(&[]), 0);
        assert_eq!(counted(&[small(7, 0)]), 1);
        // Backward, as undo goes, and forward.
        assert_eq!(counted(&[small(7, 1024), small(7, 512), small(7, 0)]), 3);
        assert_eq!(counted(&[small(7, 0), small(7, 512), small(7, 9000)]), 3);
        assert_eq!(counted(&[small(7, 512), small(7, 0), small(7, 511)]), 2);
        assert_eq!(counted(&[small(7, 0), small(7, 9000), small(7, 512)]), 2);
        assert_eq!(counted(&[small(7, 512), small(8, 0)]), 1);
        assert_eq!(counted(&[small(7, 512), line(7, 0, 8, 2 << 20)]), 1);
    }

    #[test]
    fn as_much_goes_together_as_a_move_moves_at_once() {
        let huge: Vec<ChunkLine> = (0..40).map(|at| line(7, 8 * at, 8, 2 << 20)).collect();
        assert_eq!(counted(&huge), 16);
        let larger = [line(7, 1, 1, 1 << 30), line(7, 0, 1, 1 << 30)];
        assert_eq!(counted(&larger), 1);
        // With a limit of the rate, a part of a second's worth; one at least.
        assert_eq!(counted_of(&huge, 64 << 20), 4);
        assert_eq!(counted_of(&larger, 64 << 20), 1);
        let single: Vec<ChunkLine> = (0..5000).map(|at| line(7, 2 * at, 1, 4096)).collect();
        assert_eq!(counted(&single), STRETCHES_MAX);
    }
}
