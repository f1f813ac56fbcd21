//! Every kind of change that a program knows: how lines of the journal become changes.

use std::collections::BTreeSet;
use std::fmt::Display;

use crate::{Change, Entry, Error, Journal, Presence, ProcessIdentity, Recorded, TakeBack, Thing};

/// One kind of change.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    name: &'static str,
    outlives_a_boot: bool,
    read: fn(&Recorded) -> Result<Box<dyn AnyChange>, serde_json::Error>,
}

impl Kind {
    /// The kind that `C` implements.
    pub const fn of<C: Change>() -> Self {
        Kind {
            name: C::KIND,
            outlives_a_boot: C::OUTLIVES_A_BOOT,
            read: |recorded| Ok(Box::new(recorded.parse::<C>()?)),
        }
    }
}

/// The kinds that a program knows, in one list for each crate that makes changes.
#[derive(Debug, Clone, Copy)]
pub struct Kinds(pub &'static [&'static [Kind]]);

impl Kinds {
    /// The names of all kinds, as the journal has them.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0
            .iter()
            .flat_map(|kinds| kinds.iter())
            .map(|kind| kind.name)
    }

    fn find(&self, recorded: &Recorded) -> Option<&'static Kind> {
        let mut all = self.0.iter().flat_map(|kinds| kinds.iter());
        all.find(|kind| kind.name == recorded.kind())
    }

    /// The change of an entry.
    ///
    /// # Errors
    /// [`Error::Unknown`] when its kind is not in the list, [`Error::NotOurs`] when its fields are
    /// not those of its kind.
    pub(crate) fn read(&self, entry: &Entry) -> Result<Box<dyn AnyChange>, Error> {
        let recorded = &entry.change;
        let kind = self.find(recorded).ok_or_else(|| Error::Unknown {
            entry: entry.entry,
            kind: recorded.kind().to_owned(),
        })?;
        (kind.read)(recorded).map_err(|cause| Error::NotOurs {
            change: format!("change {} ({})", entry.entry, recorded.kind()),
            what: format!("its fields: {cause}"),
        })
    }

    /// Whether the change of an entry survives a reboot. In doubt, yes: it is not struck off then.
    pub(crate) fn outlives_a_boot(&self, entry: &Entry) -> bool {
        let kind = self.find(&entry.change);
        kind.is_none_or(|kind| kind.outlives_a_boot)
    }

    /// The change of an entry, in words.
    pub fn describe(&self, entry: &Entry) -> String {
        match self.read(entry) {
            Ok(change) => change.to_string(),
            Err(_) => format!("a change of the kind {:?}", entry.change.kind()),
        }
    }
}

/// A change of whatever kind.
pub(crate) trait AnyChange: Display {
    fn things(&self, journal: &Journal, entry: u64) -> Result<BTreeSet<Thing>, Error>;
    fn presence(&self, made_by: &ProcessIdentity) -> Result<Presence, Error>;
    fn take_back(&self, how: &TakeBack<'_>) -> Result<Option<String>, Error>;
}

impl<C: Change> AnyChange for C {
    fn things(&self, journal: &Journal, entry: u64) -> Result<BTreeSet<Thing>, Error> {
        Change::things(self, journal, entry)
    }

    fn presence(&self, made_by: &ProcessIdentity) -> Result<Presence, Error> {
        Change::presence(self, made_by)
    }

    fn take_back(&self, how: &TakeBack<'_>) -> Result<Option<String>, Error> {
        Change::take_back(self, how)
    }
}
