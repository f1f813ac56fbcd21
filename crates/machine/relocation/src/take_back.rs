//! Moves pages back: those that still are where they were sent go where they were before.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};

use journal::{Change, Error, Journal, Presence, ProcessIdentity, TakeBack, Thing};
use linux::{Root, proc_stat};
use model::{ByteSize, NodeId, SegmentKind};
use serde::{Deserialize, Serialize};

use super::chunk_log::{self, ChunkLine};
use super::memory::{Part, PartKind, Source, Stretch};
use super::owner::Owner;
use super::read_error::ReadError;
use super::reader::{Reader, Unit};
use super::sender::{self, Sent};
use super::{sequence, whereabouts};
use placement::Pattern;

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

/// Moves the pages of these chunks back, one after the other; `change` names what sent them.
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
    for line in lines {
        // A separate pass for each chunk: a page that was moved twice is moved back twice.
        let pass = reader.another_pass();
        chunk(how.root, pass, line, &mut owners, how.force, &mut back)?;
    }
    match back.complaint() {
        Some(reason) => Err(Error::Undo {
            change: change.to_owned(),
            reason,
        }),
        None => Ok(None),
    }
}

/// The result of moving pages back.
#[derive(Debug, Default)]
struct Back {
    /// Pages that are no longer in memory need no move.
    sent: Sent,
    /// Bytes that are neither where we had put them nor where they were before.
    bytes_moved_by_others: u64,
}

impl Back {
    fn complaint(&self) -> Option<String> {
        let mut reasons = Vec::new();
        if self.bytes_moved_by_others > 0 {
            let bytes = ByteSize(self.bytes_moved_by_others);
            reasons.push(format!("another process has moved {bytes} of it since"));
        }
        for (number, bytes) in &self.sent.refused {
            let (bytes, why) = (ByteSize(*bytes), sender::reason(*number));
            reasons.push(format!("{bytes} stay where they are: {why}"));
        }
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }
}

/// How the pages of an owner are reached: looked up once for all of its chunks.
struct Reach {
    part: Part,
    /// For huge pages: the processes that map the object, with address and extent in bytes.
    mapped: Vec<(u32, u64, u64, u64)>,
}

fn chunk(
    root: &Root,
    mut reader: Reader<'_>,
    line: &ChunkLine,
    owners: &mut BTreeMap<String, Option<Reach>>,
    force: bool,
    back: &mut Back,
) -> Result<(), Error> {
    let key = format!("{:?} {}", line.of, line.page_bytes);
    let reach = match owners.entry(key) {
        std::collections::btree_map::Entry::Occupied(found) => found.into_mut(),
        std::collections::btree_map::Entry::Vacant(place) => place.insert(reach(root, line)?),
    };
    let Some(reach) = reach else {
        return Ok(());
    };
    let decode = |text: &str| sequence::decode(text).unwrap_or_default();
    let (from, to) = (decode(&line.from), decode(&line.to));
    let wanted = |unit: &Unit, back: &mut Back| -> Option<NodeId> {
        let index = unit.page.checked_sub(line.first)? as usize;
        // Where it is not known where a page was sent, it is sent back from anywhere.
        let (from, to) = ((*from.get(index)?)?, *to.get(index)?);
        if to == Some(from) || unit.node == from {
            return None;
        }
        if to.is_some_and(|to| to != unit.node) && !force {
            back.bytes_moved_by_others += unit.pages * line.page_bytes;
            return None;
        }
        Some(from)
    };
    for stretch in stretches(reach, line, from.len() as u64) {
        let chunk = match reader.read(&reach.part, &stretch) {
            Ok(chunk) => chunk,
            Err(error) if error.is_of_an_ended_process() => continue,
            Err(error) => return Err(error.into()),
        };
        let units: Vec<(Unit, NodeId)> = chunk
            .units
            .iter()
            .filter_map(|unit| Some((*unit, wanted(unit, back)?)))
            .collect();
        let of_others = linux::capabilities::may_move_pages_of_others(root);
        match sender::send(
            chunk.pid,
            &units,
            line.page_bytes,
            of_others,
            &mut back.sent,
        ) {
            Ok(()) => {}
            Err(error) if ReadError::from_call(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Finds the owner of a chunk; `None` when it is gone, and its memory with it.
fn reach(root: &Root, line: &ChunkLine) -> Result<Option<Reach>, Error> {
    let part = |source, kind| Part {
        name: String::new(),
        kind,
        page_bytes: line.page_bytes,
        pattern: Pattern::of_one(NodeId(0)),
        source,
        views: Vec::new(),
        stretches: Vec::new(),
    };
    match &line.of {
        Owner::Process { pid, start_ticks } => {
            let (pid, start_ticks) = (*pid, *start_ticks);
            let is_same = proc_stat::read(root, pid).is_ok_and(|it| it.start_ticks == start_ticks);
            let kind = PartKind::Private { pid, start_ticks };
            Ok(is_same.then(|| Reach {
                part: part(Source::Process, kind),
                mapped: Vec::new(),
            }))
        }
        Owner::Object { id: object, name } => {
            let kind = PartKind::Segment(SegmentKind::File);
            let Some(found) = whereabouts::object(root, object, name)? else {
                return Ok(None);
            };
            let id = (*object).into();
            if found.huge_page_bytes.is_none() {
                let part = part(Source::Window(id, found), kind);
                let mapped = Vec::new();
                return Ok(Some(Reach { part, mapped }));
            }
            let mapped = whereabouts::mappings(root, object)?;
            let mapped = mapped
                .into_iter()
                .map(|(pid, it)| (pid, it.start, it.offset, it.bytes()));
            Ok(Some(Reach {
                part: part(Source::HugeObject(id, found), kind),
                mapped: mapped.collect(),
            }))
        }
    }
}

fn stretches(reach: &Reach, line: &ChunkLine, pages: u64) -> Vec<Stretch> {
    let (first, page_bytes) = (line.first, line.page_bytes);
    let one = |pid, address| Stretch {
        pid,
        first,
        pages,
        address,
    };
    match (&reach.part.source, reach.part.kind) {
        (Source::Window(..), _) => vec![one(0, 0)],
        (_, PartKind::Private { pid, .. }) => vec![one(pid, first * page_bytes)],
        (_, PartKind::Segment(_)) => {
            let of_mapping = |(pid, start, offset, bytes): &(u32, u64, u64, u64)| {
                let (low, high) = (offset / page_bytes, (offset + bytes) / page_bytes);
                let (begin, end) = (first.max(low), (first + pages).min(high));
                (begin < end).then(|| Stretch {
                    pid: *pid,
                    first: begin,
                    pages: end - begin,
                    address: start + (begin - low) * page_bytes,
                })
            };
            reach.mapped.iter().filter_map(of_mapping).collect()
        }
    }
}
