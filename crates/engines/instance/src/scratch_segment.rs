//! The System V segment of an instance. It outlives its processes until it is marked for
//! destruction, and that takes a second call, so it gets a key that is journalled first.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;
use std::time::{Duration, Instant};

use journal::{Change, Error, Journal, Kind, Presence, ProcessIdentity, TakeBack};
use linux::sysv_segments::{self, SysvSegment};
use linux::{Root, ipc_namespace, process};
use serde::{Deserialize, Serialize};

/// The kinds of changes that an instance requires.
pub const CHANGES: &[Kind] = &[Kind::of::<SegmentMade>()];

/// The keys of our segments: `nl` and two bytes.
const KEYS: Range<i32> = 0x6e6c_0000..0x6e6d_0000;
/// A process has so many of them, and a process with another id has others, mostly: trials that run
/// one at a time share a key, so that their evidence can be compared.
const KEYS_OF_A_PROCESS: u32 = 64;
/// Timeout for processes of a killed instance to end, and interval of looks.
const END_WITHIN: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A System V segment was made. It has its key until the instance marks it for destruction, right
/// after attaching it; from then on the kernel frees it with its last process (shmctl(2),
/// `IPC_RMID`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SegmentMade {
    /// Its key.
    key: i32,
    /// The namespace in which it has that key (ipc_namespaces(7)).
    ipc_namespace: Option<u64>,
}

impl Display for SegmentMade {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "System V segment with key {:#010x}", self.key)
    }
}

impl Change for SegmentMade {
    const KIND: &'static str = "segment-made";

    fn presence(&self, _: &ProcessIdentity) -> Result<Presence, Error> {
        let is_ours = KEYS.contains(&self.key);
        Ok(Presence::there_if(
            is_ours,
            format_args!("{:#010x}", self.key),
        ))
    }

    fn take_back(&self, how: &TakeBack<'_>) -> Result<Option<String>, Error> {
        if self.ipc_namespace == ipc_namespace::own(how.root) {
            return self.remove(how.root).map(|()| None);
        }
        let elsewhere = "it may remain in another IPC namespace".to_owned();
        match how.force {
            true => Ok(Some(elsewhere)),
            false => Err(self.stays(elsewhere)),
        }
    }
}

impl SegmentMade {
    fn stays(&self, reason: String) -> Error {
        Error::Undo {
            change: self.to_string(),
            reason,
        }
    }

    /// Removes the segment if there is one with the key, once no process has it attached. One of
    /// another user is not ours: the instance refuses a key that is taken.
    fn remove(&self, root: &Root) -> Result<(), Error> {
        let deadline = Instant::now() + END_WITHIN;
        let user = process::user();
        while let Some((id, _)) = self.found(root)?.filter(|(_, it)| it.owner_uid == user) {
            if sysv_segments::remove_if_unused(self.key, id, user)? {
                break;
            }
            if Instant::now() > deadline {
                let reason = format!("a process has it attached (`ipcs -m`, id {id})");
                return Err(self.stays(reason));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// The segment that has the key, and its id.
    fn found(&self, root: &Root) -> Result<Option<(i32, SysvSegment)>, Error> {
        let mut segments = sysv_segments::read(root)?.into_iter();
        let found = segments.find(|(_, it)| it.key == self.key.cast_unsigned());
        Ok(found.and_then(|(id, segment)| Some((i32::try_from(id).ok()?, segment))))
    }
}

/// The key of a process.
fn key(pid: u32, number: u32) -> i32 {
    let number = pid.wrapping_mul(KEYS_OF_A_PROCESS).wrapping_add(number);
    KEYS.start + (number % KEYS.len() as u32) as i32
}

/// A key that is in the journal, for a segment that an instance will make. Dropped once the
/// instance has ended, it removes the segment if it still has the key.
#[derive(Debug)]
pub struct ScratchSegment {
    made: SegmentMade,
    journal: Journal,
    entry: u64,
}

impl ScratchSegment {
    /// Chooses a key that no segment has, and journals it; `number` distinguishes it from those of
    /// concurrent trials.
    ///
    /// # Errors
    /// When the table of segments cannot be read or the journal cannot be written.
    pub fn announce(journal: &Journal, number: usize) -> Result<Self, Error> {
        let root = Root::live();
        let mut made = SegmentMade {
            key: key(std::process::id(), number as u32),
            ipc_namespace: ipc_namespace::own(&root),
        };
        while made.found(&root)?.is_some() {
            // Of the next process. A machine has 4,096 segments at most (`kernel.shmmni`).
            made.key = key(0, (made.key - KEYS.start) as u32 + KEYS_OF_A_PROCESS);
        }
        Ok(ScratchSegment {
            entry: made.record(journal)?,
            made,
            journal: journal.clone(),
        })
    }

    /// The key with which the instance makes the segment.
    pub fn key(&self) -> i32 {
        self.made.key
    }
}

impl Drop for ScratchSegment {
    fn drop(&mut self) {
        // What fails here stays in the journal, for `numalab undo`.
        if self.made.remove(&Root::live()).is_ok() {
            let _ = self.journal.mark_undone(self.entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use journal::{Kinds, Undone};
    use linux::shared_memory::{ObjectKind, SharedMemory};
    use testing::{Need, not_run};

    use super::*;

    const KINDS: Kinds = Kinds(&[CHANGES]);

    fn made(key: i32) -> SharedMemory {
        let page_bytes = process::page_bytes();
        let kind = ObjectKind::Sysv { key: Some(key) };
        SharedMemory::create(kind, page_bytes as usize, page_bytes).unwrap()
    }

    fn undo(folder: &Path, force: bool) -> Vec<Undone> {
        let journal = Journal::in_directory(folder);
        journal::undo(&journal, KINDS, |_| true, force).unwrap()
    }

    fn is_there(segment: &ScratchSegment) -> bool {
        segment.made.found(&Root::live()).unwrap().is_some()
    }

    #[test]
    fn keys_are_ours_and_those_of_concurrent_trials_differ() {
        for pid in [1, 1023, 1024, u32::MAX] {
            let keys: Vec<i32> = (0..KEYS_OF_A_PROCESS).map(|it| key(pid, it)).collect();
            assert!(keys.iter().all(|it| KEYS.contains(it)), "{pid}");
            let next = key(pid.wrapping_add(1), 0);
            assert!(
                !keys.contains(&next) && keys.is_sorted_by(|a, b| a < b),
                "{pid}"
            );
        }
    }

    #[test]
    fn a_key_that_a_segment_has_is_not_chosen() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(folder.path());
        let one = ScratchSegment::announce(&journal, 9).unwrap();
        let memory = made(one.key());
        let other = ScratchSegment::announce(&journal, 9).unwrap();
        assert_ne!(one.key(), other.key());
        drop(memory);
    }

    #[test]
    fn a_segment_that_was_only_made_is_removed_and_none_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(folder.path());
        let segment = ScratchSegment::announce(&journal, 0).unwrap();
        // As a kill would leave it: nothing that would mark it for destruction runs.
        std::mem::forget(made(segment.key()));
        assert!(is_there(&segment));
        let other = ScratchSegment::announce(&journal, 1).unwrap();
        let undone = undo(folder.path(), false);
        assert_eq!(undone.len(), 2);
        assert!(undone.iter().all(|it| it.failure.is_none()), "{undone:?}");
        assert!(!is_there(&segment) && !is_there(&other));
        assert!(journal.in_force().unwrap().is_empty());
    }

    #[test]
    fn an_instance_that_has_attached_its_segment_leaves_no_key() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(folder.path());
        let segment = ScratchSegment::announce(&journal, 2).unwrap();
        let memory = made(segment.key());
        let taken = SharedMemory::create(
            ObjectKind::Sysv {
                key: Some(segment.key()),
            },
            process::page_bytes() as usize,
            process::page_bytes(),
        );
        assert_eq!(taken.unwrap_err().errno(), Some(17), "EEXIST");
        let mapping = memory.map().unwrap();
        assert!(!is_there(&segment));
        drop(segment);
        assert!(journal.in_force().unwrap().is_empty());
        drop(mapping);
    }

    #[test]
    fn a_segment_in_use_stays_and_the_journal_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(folder.path());
        let segment = ScratchSegment::announce(&journal, 3).unwrap();
        let memory = made(segment.key());
        // Attached, but not by its maker, which would mark it.
        let mapping = SharedMemory::from_ticket(memory.ticket(), process::page_bytes() as usize)
            .unwrap()
            .map()
            .unwrap();
        let undone = undo(folder.path(), false);
        let said = undone[0].failure.as_ref().unwrap().to_string();
        assert!(said.contains("attached"), "{said}");
        assert!(is_there(&segment) && journal.in_force().unwrap().len() == 1);
        drop(mapping);
        std::mem::forget(memory);
        let made = segment.made.clone();
        drop(segment);
        assert!(made.found(&Root::live()).unwrap().is_none());
        assert!(undo(folder.path(), false).is_empty());
    }

    #[test]
    fn a_segment_of_another_user_stays_and_is_none_of_ours() {
        let test = "a_segment_of_another_user_stays_and_is_none_of_ours";
        if !process::is_root() {
            return not_run(test, Need::Root, "only root may become another user");
        }
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(folder.path());
        let segment = ScratchSegment::announce(&journal, 4).unwrap();
        let key = segment.key();
        let theirs = process::as_user(65_534, 65_534, || made(key)).unwrap();
        assert!(undo(folder.path(), false)[0].failure.is_none());
        assert!(is_there(&segment) && journal.in_force().unwrap().is_empty());
        drop(theirs);
        assert!(!is_there(&segment));
    }

    #[test]
    fn a_line_with_a_key_that_is_not_ours_or_of_elsewhere_removes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(folder.path());
        let own = ipc_namespace::own(&Root::live());
        for (key, ipc_namespace, expected) in [
            (KEYS.end, own, "cannot have written (0x6e6d0000)"),
            (0, own, "cannot have written (0x00000000)"),
            (KEYS.start, Some(1), "another IPC namespace"),
        ] {
            let line = SegmentMade { key, ipc_namespace };
            let entry = line.record(&journal).unwrap();
            let said = undo(folder.path(), false)[0].failure.take().unwrap();
            assert!(said.to_string().contains(expected), "{said}");
            journal.mark_undone(entry).unwrap();
        }
    }
}
