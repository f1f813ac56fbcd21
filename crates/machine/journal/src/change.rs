//! What every change can say of itself.

use std::collections::BTreeSet;
use std::fmt::Display;

use linux::Root;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Journal, ProcessIdentity, Recorded, Thing};

/// A change to something outside our own processes, with what is needed to undo it. Its fields are
/// what a line of the journal holds; `Display` describes it in a list of changes.
pub trait Change: Serialize + DeserializeOwned + Display + 'static {
    /// The name of this kind of change in the journal.
    const KIND: &'static str;
    /// Whether it survives a reboot.
    const OUTLIVES_A_BOOT: bool = false;

    /// Writes and syncs that this change is about to be made; returns its number.
    ///
    /// # Errors
    /// [`Error::Journal`]; then the change must not be made.
    fn record(&self, journal: &Journal) -> Result<u64, Error> {
        let recorded = Recorded::new(Self::KIND, self);
        journal.record(recorded.map_err(|cause| journal.error(cause.into()))?)
    }

    /// The change that the journal holds, if it is of this kind and its fields are whole.
    fn of(recorded: &Recorded) -> Option<Self> {
        let is_of_kind = recorded.kind() == Self::KIND;
        is_of_kind.then(|| recorded.parse().ok()).flatten()
    }

    /// The things that it changes; none if no other change can be of the same, as with a created
    /// group. `entry` is its number in the journal.
    ///
    /// # Errors
    /// When a file beside the journal that lists them cannot be read.
    fn things(&self, _journal: &Journal, _entry: u64) -> Result<BTreeSet<Thing>, Error> {
        Ok(BTreeSet::new())
    }

    /// Whether numalab could have made it, and whether what it made still exists. The journal is
    /// acted on, also by root: should a line ever come from another writer, it can only undo what
    /// numalab itself could have changed.
    ///
    /// # Errors
    /// When that cannot be found out.
    fn presence(&self, made_by: &ProcessIdentity) -> Result<Presence, Error>;

    /// Undoes it, and returns what it left in place, in words. Called under the locks of its
    /// [`Change::things`], and safe to call twice.
    ///
    /// # Errors
    /// [`Error::Undo`] when it is in use, or another process has changed the same since and
    /// `force` is not set; other errors when the kernel refuses.
    fn take_back(&self, how: &TakeBack<'_>) -> Result<Option<String>, Error>;
}

impl Journal {
    /// Ends change number `entry`, which failed with `cause`: it leaves the journal if everything
    /// `is_as_before`, and stays where a part of it may have been made.
    pub fn failed(&self, entry: u64, is_as_before: bool, cause: Error) -> Error {
        match is_as_before {
            true => self.mark_undone(entry).err().unwrap_or(cause),
            false => Error::Unfinished {
                entry,
                cause: Box::new(cause),
            },
        }
    }
}

/// Whether a change can be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// What it made exists.
    There,
    /// What it made is gone, so that nothing is left to undo.
    Gone,
    /// numalab makes no such change: the part of it that differs, in words.
    NotOurs(String),
}

impl Presence {
    /// What exists, and is ours if `is_ours`; `what` names it.
    pub fn there_if(is_ours: bool, what: impl Display) -> Self {
        match is_ours {
            true => Presence::There,
            false => Presence::NotOurs(what.to_string()),
        }
    }
}

/// What undoing a change needs to know.
#[derive(Debug, Clone, Copy)]
pub struct TakeBack<'a> {
    /// The machine.
    pub root: &'a Root,
    /// The journal.
    pub journal: &'a Journal,
    /// The number of the change in it.
    pub entry: u64,
    /// Whether to undo also what another process has changed since.
    pub force: bool,
    /// Move back at most so many bytes in a second; `None`: no limit.
    pub bytes_per_s: Option<u64>,
}
