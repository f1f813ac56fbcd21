//! Undoes the changes that the journal still lists.

use std::collections::{BTreeMap, BTreeSet};

use linux::Root;

use crate::claim::{self, Claim};
use crate::{Entry, Error, Journal, Kinds, Lock, Origin, Presence, TakeBack, Thing};

/// The result of undoing one change.
#[derive(Debug)]
pub struct Undone {
    /// The change.
    pub entry: Entry,
    /// Why it could not be undone.
    pub failure: Option<Error>,
    /// What the change left behind although it was undone, in words.
    pub remains: Option<String>,
}

/// Undoes the changes in force that `wanted` selects, newest first, so that a change is undone
/// before those it builds on. With `force`, also undoes what another process has changed since.
/// A change of a kind that is not among `kinds` stays, as do its fields.
///
/// No other process changes the same things in the meantime: their locks are taken first, and the
/// changes in force are read again under them. A change stays as long as a later one of the same
/// thing does: the state before it can only return once the later one is undone.
///
/// # Errors
/// [`Error::Journal`] when the journal itself cannot be used; a change that cannot be undone is
/// returned with its failure and stays in the journal.
pub fn undo(
    journal: &Journal,
    kinds: Kinds,
    wanted: impl Fn(&Entry) -> bool,
    force: bool,
) -> Result<Vec<Undone>, Error> {
    undo_at(journal, kinds, wanted, force, None)
}

/// The same; moves back at most `bytes_per_s`.
///
/// # Errors
/// As [`undo`].
pub fn undo_at(
    journal: &Journal,
    kinds: Kinds,
    wanted: impl Fn(&Entry) -> bool,
    force: bool,
    bytes_per_s: Option<u64>,
) -> Result<Vec<Undone>, Error> {
    let root = Root::live();
    let chosen: Vec<Entry> = journal.in_force()?.into_iter().filter(wanted).collect();
    let locked = Locked::take(&root, journal, kinds, &chosen);
    let chosen: BTreeSet<u64> = chosen.iter().map(|entry| entry.entry).collect();
    let mut staying: BTreeMap<Thing, u64> = BTreeMap::new();
    let mut done = Vec::new();
    for entry in journal.in_force()?.into_iter().rev() {
        let (things, unknown) = match entry.made_by.origin(&root) {
            // Nothing is known of a change whose list of pages is damaged: it is not undone.
            Origin::ThisBoot => match things_of(journal, kinds, &entry) {
                Ok(things) => (things, None),
                Err(error) => (BTreeSet::new(), Some(error)),
            },
            _ => (BTreeSet::new(), None),
        };
        let number = entry.entry;
        let is_chosen = chosen.contains(&number);
        let outcome = match entry.made_by.origin(&root) {
            _ if !is_chosen => Ok(None),
            // What has this name now is not ours, unless it is a directory on a disk.
            Origin::EarlierBoot if !kinds.outlives_a_boot(&entry) => Ok(None),
            Origin::Elsewhere(made) => Err(Error::Undo {
                change: kinds.describe(&entry),
                reason: format!("it was made {made}"),
            }),
            _ => unknown
                .map_or(Ok(()), Err)
                .and_then(|()| in_turn(kinds, &entry, &things, &staying, force))
                .and_then(|()| {
                    let how = TakeBack {
                        root: &root,
                        journal,
                        entry: number,
                        force,
                        bytes_per_s,
                    };
                    take_back(kinds, &entry, &how, || locked.permit(&things))
                }),
        };
        let (failure, remains) = match outcome {
            Ok(remains) => (None, remains),
            Err(error) => (Some(error), None),
        };
        if !is_chosen || failure.is_some() {
            staying.extend(things.into_iter().map(|thing| (thing, number)));
        }
        if is_chosen {
            if failure.is_none() {
                journal.mark_undone(number)?;
            }
            done.push(Undone {
                entry,
                failure,
                remains,
            });
        }
    }
    Ok(done)
}

fn things_of(journal: &Journal, kinds: Kinds, entry: &Entry) -> Result<BTreeSet<Thing>, Error> {
    kinds.read(entry)?.things(journal, entry.entry)
}

/// The locks on what is to be undone.
struct Locked(BTreeMap<Lock, Taken>);

/// What came of a lock.
enum Taken {
    /// It is held, if what it covers is still there.
    Held(#[expect(dead_code, reason = "held, not read")] Option<Claim>),
    /// Another process holds it.
    ByOther { holder: String, what: String },
    /// It cannot be taken, and why.
    Failed(String),
}

impl Locked {
    /// Takes every free lock in a fixed order: of two processes that want the same, one gets all.
    fn take(root: &Root, journal: &Journal, kinds: Kinds, entries: &[Entry]) -> Self {
        let lives = |entry: &&Entry| entry.made_by.origin(root) == Origin::ThisBoot;
        let things = entries.iter().filter(lives);
        let things: BTreeSet<Thing> = things
            .flat_map(|entry| things_of(journal, kinds, entry).unwrap_or_default())
            .collect();
        let locks: BTreeSet<&Lock> = things.iter().filter_map(Thing::lock).collect();
        let deadline = claim::deadline();
        let take = |lock: &Lock| match lock.take(root, deadline) {
            Ok(claim) => Taken::Held(claim),
            Err(Error::AtWork { holder, what }) => Taken::ByOther { holder, what },
            Err(error) => Taken::Failed(error.to_string()),
        };
        Locked(locks.into_iter().map(|it| (it.clone(), take(it))).collect())
    }

    /// Whether everything that a change is of may be changed now.
    fn permit(&self, things: &BTreeSet<Thing>) -> Result<(), NotLocked> {
        for lock in things.iter().filter_map(Thing::lock) {
            match self.0.get(lock) {
                Some(Taken::Held(_)) => {}
                Some(Taken::ByOther { holder, what }) => {
                    let (holder, what) = (holder.clone(), what.clone());
                    return Err(NotLocked::ByOther(Error::AtWork { holder, what }));
                }
                Some(Taken::Failed(why)) => return Err(NotLocked::Unable(why.clone())),
                // More memory was moved since the locks were taken.
                None => return Err(NotLocked::Unable("it is being changed".to_owned())),
            }
        }
        Ok(())
    }
}

/// Why something may not be changed now.
enum NotLocked {
    ByOther(Error),
    Unable(String),
}

/// Refuses to undo a change while a later change of the same thing stays.
fn in_turn(
    kinds: Kinds,
    entry: &Entry,
    things: &BTreeSet<Thing>,
    staying: &BTreeMap<Thing, u64>,
    force: bool,
) -> Result<(), Error> {
    match things.iter().find_map(|thing| staying.get(thing)) {
        Some(later) if !force => Err(Error::Undo {
            change: kinds.describe(entry),
            reason: format!("the later change {later} of the same object is still in force"),
        }),
        _ => Ok(()),
    }
}

/// Undoes one change, if numalab could have made it and its things are locked; returns what it
/// leaves behind, in words.
fn take_back(
    kinds: Kinds,
    entry: &Entry,
    how: &TakeBack<'_>,
    permit: impl FnOnce() -> Result<(), NotLocked>,
) -> Result<Option<String>, Error> {
    let change = kinds.read(entry)?;
    match change.presence(&entry.made_by)? {
        Presence::There => match permit() {
            Ok(()) => change.take_back(how),
            Err(NotLocked::ByOther(error)) => Err(error),
            Err(NotLocked::Unable(reason)) => Err(Error::Undo {
                change: change.to_string(),
                reason,
            }),
        },
        Presence::Gone => Ok(None),
        Presence::NotOurs(what) => Err(Error::NotOurs {
            change: change.to_string(),
            what,
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::{self, Display, Formatter};
    use std::fs;
    use std::path::PathBuf;
    use std::time::Instant;

    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::{Change, Kind, ProcessIdentity};

    /// What the tests change, if its file is called so.
    const NAME: &str = "file";

    /// A file was written.
    #[derive(Serialize, Deserialize)]
    struct Written {
        path: PathBuf,
        before: String,
        written: String,
    }

    impl Display for Written {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            write!(f, "{}", self.path.display())
        }
    }

    impl Change for Written {
        const KIND: &'static str = "written";

        fn things(&self, _: &Journal, _: u64) -> Result<BTreeSet<Thing>, Error> {
            Ok([Thing::file(self.path.clone())].into())
        }

        fn presence(&self, _: &ProcessIdentity) -> Result<Presence, Error> {
            let is_ours = self.path.ends_with(NAME);
            Ok(match self.path.exists() {
                true => Presence::there_if(is_ours, self.path.display()),
                false => Presence::Gone,
            })
        }

        fn take_back(&self, how: &TakeBack<'_>) -> Result<Option<String>, Error> {
            let now = fs::read_to_string(&self.path).unwrap();
            if !how.force && now != self.written && now != self.before {
                return Err(Error::Undo {
                    change: self.to_string(),
                    reason: format!("another process has written {now:?}"),
                });
            }
            fs::write(&self.path, &self.before).unwrap();
            Ok(Some(format!("{} remains", self.before)))
        }
    }

    /// Something that no boot takes away and nobody can undo.
    #[derive(Serialize, Deserialize)]
    struct Lasting {}

    impl Display for Lasting {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            write!(f, "something lasting")
        }
    }

    impl Change for Lasting {
        const KIND: &'static str = "lasting";
        const OUTLIVES_A_BOOT: bool = true;

        fn presence(&self, _: &ProcessIdentity) -> Result<Presence, Error> {
            Ok(Presence::There)
        }

        fn take_back(&self, _: &TakeBack<'_>) -> Result<Option<String>, Error> {
            Err(Error::Undo {
                change: self.to_string(),
                reason: "it lasts".to_owned(),
            })
        }
    }

    const KINDS: Kinds = Kinds(&[&[Kind::of::<Written>()], &[Kind::of::<Lasting>()]]);

    struct Files {
        folder: tempfile::TempDir,
        journal: Journal,
    }

    impl Files {
        /// A file that read 0-3 and was changed twice: to 0-1, and to 1-2.
        fn changed_twice() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let journal = Journal::in_directory(folder.path());
            let files = Files { folder, journal };
            fs::write(files.path(), "0-3").unwrap();
            for value in ["0-1", "1-2"] {
                let (path, written) = (files.path(), value.to_owned());
                let before = fs::read_to_string(&path).unwrap();
                let change = Written {
                    path,
                    before,
                    written,
                };
                change.record(&files.journal).unwrap();
                fs::write(files.path(), value).unwrap();
            }
            files
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join(NAME)
        }

        /// Makes every change appear to come from another machine or an earlier boot.
        fn made(&self, elsewhere: impl Fn(&mut serde_json::Value)) {
            let path = self.journal.path();
            let text = fs::read_to_string(&path).unwrap();
            let line = |line: &str| {
                let mut document = serde_json::from_str(line).unwrap();
                elsewhere(&mut document);
                format!("{document}\n")
            };
            fs::write(path, text.lines().map(line).collect::<String>()).unwrap();
        }

        /// What undoing reports for each change, newest first, and what the file reads then.
        fn undo(&self, wanted: impl Fn(&Entry) -> bool, force: bool) -> (Vec<String>, String) {
            let said = |undone: Undone| {
                undone
                    .failure
                    .map_or(String::new(), |error| error.to_string())
            };
            let undone = undo(&self.journal, KINDS, wanted, force).unwrap();
            let said = undone.into_iter().map(said).collect();
            (said, fs::read_to_string(self.path()).unwrap())
        }
    }

    #[test]
    fn a_change_stays_as_long_as_a_later_one_of_the_same_thing() {
        let files = Files::changed_twice();
        let refused = "the later change 2 of the same object is still in force";
        let (said, now) = files.undo(|entry| entry.entry == 1, false);
        assert!(said[0].ends_with(refused), "{said:?}");
        assert_eq!(now, "1-2");
        // Another process writes the original value: only the first change looks undone.
        fs::write(files.path(), "0-3").unwrap();
        let (said, _) = files.undo(|_| true, false);
        assert!(said[0].contains("another process has written"), "{said:?}");
        assert!(said[1].ends_with(refused), "{said:?}");
        let (said, now) = files.undo(|_| true, true);
        assert_eq!((said, now.as_str()), (vec![String::new(); 2], "0-3"));
        assert_eq!(files.journal.in_force().unwrap(), []);
    }

    #[test]
    fn what_another_is_changing_is_neither_changed_nor_taken_back() {
        let files = Files::changed_twice();
        let claim = claim::claim_path(&files.path(), Instant::now()).unwrap();
        let (said, now) = files.undo(|_| true, true);
        let is_refused = |said: &String| said.contains("has locked");
        assert!(said.len() == 2 && said.iter().all(is_refused), "{said:?}");
        assert_eq!(now, "1-2");
        assert_eq!(files.journal.in_force().unwrap().len(), 2);
        drop(claim);
        assert_eq!(files.undo(|_| true, false).1, "0-3");
    }

    /// A lock follows no link (see [`linux::file_lock::open`]).
    #[test]
    fn what_cannot_be_locked_is_not_taken_back() {
        let files = Files::changed_twice();
        let real = files.folder.path().join("real");
        fs::rename(files.path(), &real).unwrap();
        std::os::unix::fs::symlink(&real, files.path()).unwrap();
        let (said, now) = files.undo(|_| true, true);
        let is_refused = |said: &String| said.contains("cannot lock");
        assert!(said.len() == 2 && said.iter().all(is_refused), "{said:?}");
        assert_eq!(now, "1-2");
        assert_eq!(files.journal.in_force().unwrap().len(), 2);
    }

    #[test]
    fn what_was_changed_before_the_machine_was_rebooted_is_struck_off_untouched() {
        let files = Files::changed_twice();
        files.made(|entry| entry["boot"] = "before".into());
        let (said, now) = files.undo(|_| true, false);
        assert_eq!((said, now.as_str()), (vec![String::new(); 2], "1-2"));
        assert_eq!(files.journal.in_force().unwrap(), []);
    }

    #[test]
    fn what_another_machine_changed_stays_and_is_named() {
        let files = Files::changed_twice();
        files.made(|entry| {
            entry["boot"] = "other".into();
            entry["machine"] = serde_json::json!({ "id": "far", "host": "db9" });
        });
        let (said, now) = files.undo(|_| true, true);
        let names_it = |said: &String| said.contains("it was made") && said.contains("db9");
        assert!(said.len() == 2 && said.iter().all(names_it), "{said:?}");
        assert_eq!(now, "1-2");
        assert_eq!(files.journal.in_force().unwrap().len(), 2);
    }

    #[test]
    fn an_earlier_change_is_undone_by_force_although_a_later_one_stays() {
        let files = Files::changed_twice();
        let (said, now) = files.undo(|entry| entry.entry == 1, true);
        assert_eq!((said, now.as_str()), (vec![String::new()], "0-3"));
        assert_eq!(files.journal.in_force().unwrap()[0].entry, 2);
    }

    #[test]
    fn what_outlives_a_boot_is_not_struck_off_after_one() {
        let files = Files::changed_twice();
        Lasting {}.record(&files.journal).unwrap();
        files.made(|entry| entry["boot"] = "before".into());
        let (said, _) = files.undo(|_| true, false);
        assert!(said[0].ends_with("it lasts"), "{said:?}");
        assert_eq!(said[1..], [String::new(), String::new()]);
        assert_eq!(files.journal.in_force().unwrap().len(), 1);
    }

    #[test]
    fn what_numalab_never_makes_is_refused() {
        let files = Files::changed_twice();
        let other = files.folder.path().join("passwd");
        fs::write(&other, "1-2").unwrap();
        files.made(|entry| entry["change"]["path"] = other.to_str().unwrap().into());
        let undone = undo(&files.journal, KINDS, |_| true, true).unwrap();
        let refused = |it: &Undone| matches!(it.failure, Some(Error::NotOurs { .. }));
        assert!(
            undone.len() == 2 && undone.iter().all(refused),
            "{undone:?}"
        );
        assert_eq!(fs::read_to_string(other).unwrap(), "1-2");
    }

    #[test]
    fn what_is_gone_has_nothing_to_undo_and_what_remains_is_told() {
        let files = Files::changed_twice();
        let undone = undo(&files.journal, KINDS, |entry| entry.entry == 2, false).unwrap();
        assert_eq!(undone[0].remains.as_deref(), Some("0-1 remains"));
        fs::remove_file(files.path()).unwrap();
        let undone = undo(&files.journal, KINDS, |_| true, false).unwrap();
        assert!(undone[0].failure.is_none() && undone[0].remains.is_none());
        assert_eq!(files.journal.in_force().unwrap(), []);
    }

    #[test]
    fn a_change_of_another_version_stays_and_is_named() {
        let files = Files::changed_twice();
        files.made(|entry| entry["change"]["kind"] = "balanced".into());
        let (said, now) = files.undo(|_| true, true);
        let names_it = |said: &String| said.contains("of kind \"balanced\"");
        assert!(said.len() == 2 && said.iter().all(names_it), "{said:?}");
        assert_eq!(now, "1-2");
        // Also after a reboot: it may be of a kind that survives one.
        files.made(|entry| entry["boot"] = "before".into());
        files.undo(|_| true, true);
        let left = files.journal.in_force().unwrap();
        assert_eq!(left.len(), 2);
        assert_eq!(left[0].change.kind(), "balanced");
        assert!(KINDS.describe(&left[0]).contains("balanced"));
    }

    #[test]
    fn a_change_whose_fields_are_damaged_stays_and_is_named() {
        let files = Files::changed_twice();
        files.made(|entry| entry["change"]["before"] = 3.into());
        let (said, now) = files.undo(|_| true, true);
        let names_it = |said: &String| said.contains("its fields: invalid type");
        assert!(said.len() == 2 && said.iter().all(names_it), "{said:?}");
        assert_eq!(now, "1-2");
    }
}
