//! Where pages were before the kernel balanced them: what undo needs.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use journal::{Change, Error, Journal, Presence, ProcessIdentity, TakeBack, Thing};
use model::BytesByNode;
use serde::{Deserialize, Serialize};

use crate::chunk_log::{self, ChunkLine};
use crate::error::MoveError;
use crate::memory::{Part, Source, Stretch};
use crate::owner::Owner;
use crate::read_error::ReadError;
use crate::reader::Reader;
use crate::sequence::{self, Sequence};
use crate::survey::extents;
use crate::{policy, take_back, whereabouts};

/// The kernel balances shared memory; a list beside the journal says where its pages were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MemoryBalanced {
    /// The target, as the user named it.
    pub target: String,
    /// Its processes.
    pub pids: Vec<u32>,
}

impl Display for MemoryBalanced {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "shared memory of {} balanced by the kernel", self.target)
    }
}

impl Change for MemoryBalanced {
    const KIND: &'static str = "memory-balanced";

    fn things(&self, journal: &Journal, entry: u64) -> Result<BTreeSet<Thing>, Error> {
        chunk_log::things(journal, entry)
    }

    /// It names no file to write: memory is identified by its object.
    fn presence(&self, _: &ProcessIdentity) -> Result<Presence, Error> {
        Ok(Presence::There)
    }

    /// Moves the pages back to where they were, from anywhere: a page that the kernel has marked
    /// may follow its next user long after the policy is gone, so that where the kernel has put
    /// the pages cannot be told from where another process has moved them since.
    fn take_back(&self, how: &TakeBack<'_>) -> Result<Option<String>, Error> {
        let lines = chunk_log::read(how.journal, how.entry)?;
        let back = || take_back::chunks(lines.iter(), how, &self.to_string());
        if stop(how, &lines)? {
            // What this pass leaves, or what follows its marks meanwhile, the next one finds.
            let _ = back();
            std::thread::sleep(MARKS_LAST);
        }
        for _ in 1..PASSES {
            if let Ok(left) = back() {
                return Ok(left);
            }
            std::thread::sleep(PAUSE);
        }
        back()
    }
}

/// How often to move pages back: the kernel cannot move a page that a CPU is just working on, such
/// as one at which it takes a hint fault.
const PASSES: u32 = 3;
/// Between two passes.
const PAUSE: Duration = Duration::from_secs(1);

/// The time after which a busy process has used most pages that the kernel has marked in its page
/// tables. While the policy does not let the kernel move them, that takes the marks away.
pub(super) const MARKS_LAST: Duration = Duration::from_secs(3);

/// Stops the kernel at all objects of these lines; returns whether it may have been at work.
fn stop(how: &TakeBack<'_>, lines: &[ChunkLine]) -> Result<bool, Error> {
    let mut was_at_work = false;
    let owners: BTreeSet<&Owner> = lines.iter().map(|line| &line.of).collect();
    for owner in owners {
        if let Owner::Object { id, name } = owner
            && let Some(object) = whereabouts::object(how.root, id, name)?
        {
            was_at_work |= policy::stop_balancing(&object)?;
        }
    }
    Ok(was_at_work)
}

/// Returns the places of all pages of an object of small pages, a line for each chunk.
///
/// # Errors
/// When the kernel refuses to say where pages are.
pub(super) fn read(reader: &mut Reader<'_>, part: &Part) -> Result<Vec<ChunkLine>, MoveError> {
    let Source::Window(_, object) = &part.source else {
        return Ok(Vec::new());
    };
    let mut lines = Vec::new();
    for stretch in extents(object, part.page_bytes)? {
        let from = nodes(reader, part, &stretch)?;
        let nowhere: Sequence = vec![None; from.len()];
        if from.iter().any(Option::is_some) {
            lines.push(ChunkLine {
                of: part.owner(),
                page_bytes: part.page_bytes,
                first: stretch.first,
                from: sequence::encode(&from),
                to: sequence::encode(&nowhere),
            });
        }
    }
    Ok(lines)
}

/// The places before and now.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// Bytes that lie on another node than before.
    pub bytes_elsewhere: u64,
    /// Bytes by node now, of the pages that there were before.
    pub now: BytesByNode,
}

/// Compares places from before with where the pages are now.
///
/// # Errors
/// As [`read`].
pub(super) fn compare(
    reader: &mut Reader<'_>,
    part: &Part,
    before: &[ChunkLine],
) -> Result<Compared, MoveError> {
    let mut compared = Compared::default();
    for was in before {
        let from = sequence::decode(&was.from).unwrap_or_default();
        let stretch = Stretch {
            pid: 0,
            first: was.first,
            pages: from.len() as u64,
            address: 0,
        };
        let to = nodes(reader, part, &stretch)?;
        for (from, to) in from.iter().zip(&to) {
            if let (Some(from), Some(to)) = (from, to) {
                *compared.now.entry(*to).or_default() += part.page_bytes;
                compared.bytes_elsewhere += u64::from(from != to) * part.page_bytes;
            }
        }
    }
    Ok(compared)
}

/// Bytes by node of the places from before.
pub(super) fn bytes_by_node(lines: &[ChunkLine]) -> BytesByNode {
    let mut bytes = BytesByNode::new();
    for line in lines {
        let nodes = sequence::decode(&line.from).unwrap_or_default();
        for node in nodes.into_iter().flatten() {
            *bytes.entry(node).or_default() += line.page_bytes;
        }
    }
    bytes
}

fn nodes(reader: &mut Reader<'_>, part: &Part, stretch: &Stretch) -> Result<Sequence, MoveError> {
    match reader.read(part, stretch) {
        Ok(chunk) => Ok(chunk.nodes(stretch)),
        Err(ReadError::Read(error)) => Err(error.into()),
        Err(ReadError::SystemCall(error)) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_have_no_place() {
        let line = ChunkLine {
            of: Owner::Process {
                pid: 1,
                start_ticks: 1,
            },
            page_bytes: 4096,
            first: 0,
            from: "0x3 -x5 2".to_owned(),
            to: "-x9".to_owned(),
        };
        let bytes = bytes_by_node(&[line.clone(), line]);
        let bytes: Vec<(u32, u64)> = bytes.into_iter().map(|(node, it)| (node.0, it)).collect();
        assert_eq!(bytes, [(0, 6 * 4096), (2, 2 * 4096)]);
    }
}
