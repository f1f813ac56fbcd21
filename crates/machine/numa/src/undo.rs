//! Undoes the changes that the journal still lists.

use std::collections::{BTreeMap, BTreeSet};

use linux::Root;

use crate::claim::{self, Claim};
use crate::journal::{Change, Entry, Journal};
use crate::limits::{self, Presence};
use crate::thing::{self, Lock, Thing};
use crate::{
    Error, Origin, group, groups, kernel_file, mount_policy, moving, pools, scratch_cluster,
};

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
    wanted: impl Fn(&Entry) -> bool,
    force: bool,
) -> Result<Vec<Undone>, Error> {
    undo_within(journal, wanted, force, limits::check)
}

/// As [`undo`], within these limits.
pub(crate) fn undo_within(
    journal: &Journal,
    wanted: impl Fn(&Entry) -> bool,
    force: bool,
    limits: impl Fn(&Entry) -> Result<Presence, Error>,
) -> Result<Vec<Undone>, Error> {
    let root = Root::live();
    let chosen: Vec<Entry> = journal.in_force()?.into_iter().filter(wanted).collect();
    let locked = Locked::take(&root, journal, &chosen);
    let chosen: BTreeSet<u64> = chosen.iter().map(|entry| entry.entry).collect();
    let mut staying: BTreeMap<Thing, u64> = BTreeMap::new();
    let mut done = Vec::new();
    for entry in journal.in_force()?.into_iter().rev() {
        let things = match entry.made_by.origin(&root) {
            // Nothing is known of a change whose list of pages is damaged; undoing it reports that.
            Origin::ThisBoot => thing::of(journal, &entry).unwrap_or_default(),
            _ => BTreeSet::new(),
        };
        let number = entry.entry;
        let is_chosen = chosen.contains(&number);
        let outcome = match entry.made_by.origin(&root) {
            _ if !is_chosen => Ok(None),
            // What has this name now is not ours, unless it is a directory on a disk.
            Origin::EarlierBoot if !entry.change.outlives_a_boot() => Ok(None),
            Origin::Elsewhere(made) => Err(Error::Undo {
                change: entry.change.to_string(),
                reason: format!("it was made {made}"),
            }),
            _ => locked
                .permit(&things)
                .and_then(|()| in_turn(&entry, &things, &staying, force))
                .and_then(|()| limits(&entry))
                .and_then(|presence| match presence {
                    Presence::There => take_back(&root, journal, &entry, force),
                    Presence::Gone => Ok(None),
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

/// The locks on what is to be undone, and those that other processes hold.
struct Locked {
    _held: Vec<Claim>,
    refused: BTreeMap<Lock, (String, String)>,
}

impl Locked {
    /// Takes every free lock in a fixed order: of two processes that want the same, one gets all.
    fn take(root: &Root, journal: &Journal, entries: &[Entry]) -> Self {
        let lives = |entry: &&Entry| entry.made_by.origin(root) == Origin::ThisBoot;
        let things = entries.iter().filter(lives);
        let things = things.flat_map(|entry| thing::of(journal, entry).unwrap_or_default());
        let locks: BTreeSet<Lock> = things.filter_map(|thing| thing.lock()).collect();
        let (mut held, mut refused) = (Vec::new(), BTreeMap::new());
        let deadline = claim::deadline();
        for lock in locks {
            match lock.take(root, deadline) {
                Ok(claim) => held.extend(claim),
                Err(Error::AtWork { holder, what }) => {
                    refused.insert(lock, (holder, what));
                }
                // What cannot be reached cannot be undone either, and undoing it says why.
                Err(_) => {}
            }
        }
        Locked {
            _held: held,
            refused,
        }
    }

    fn permit(&self, things: &BTreeSet<Thing>) -> Result<(), Error> {
        let of_others = things
            .iter()
            .find_map(|thing| self.refused.get(&thing.lock()?));
        match of_others.cloned() {
            Some((holder, what)) => Err(Error::AtWork { holder, what }),
            None => Ok(()),
        }
    }
}

/// Refuses to undo a change while a later change of the same thing stays.
fn in_turn(
    entry: &Entry,
    things: &BTreeSet<Thing>,
    staying: &BTreeMap<Thing, u64>,
    force: bool,
) -> Result<(), Error> {
    match things.iter().find_map(|thing| staying.get(thing)) {
        Some(later) if !force => Err(Error::Undo {
            change: entry.change.to_string(),
            reason: format!("change {later} of the same was made later and is still in force"),
        }),
        _ => Ok(()),
    }
}

/// Undoes one change; returns what it leaves behind, in words. Safe to call twice.
fn take_back(
    root: &Root,
    journal: &Journal,
    entry: &Entry,
    force: bool,
) -> Result<Option<String>, Error> {
    let change = &entry.change;
    let outcome = match change {
        Change::GroupCreated { .. } | Change::ControllerEnabled { .. } => group::undo(change),
        Change::ClusterMade { directory } => scratch_cluster::remove(directory),
        Change::SchemaMade { schema, .. } => Err(Error::Undo {
            change: change.to_string(),
            reason: format!("only its server can: DROP SCHEMA \"{schema}\" CASCADE"),
        }),
        Change::FileWritten { .. } => kernel_file::undo(change, force),
        Change::PoolResized { .. } => pools::undo(change, force),
        Change::MountPolicySet { .. } => mount_policy::undo(change, force),
        Change::SegmentPolicySet { .. } => return moving::undo_policy(root, change, force),
        Change::PagesMoved { .. } => moving::undo_pages(root, journal, entry, force),
        Change::GroupNamed { .. } | Change::MemberMoved { .. } => groups::undo(change),
    };
    outcome.map(|()| None)
}

#[cfg(test)]
mod tests {
    // Ordinary files stand in for the kernel's.
    use std::fs;
    use std::time::Instant;

    use super::*;
    use crate::journal::Entry;

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
                kernel_file::write(&files.journal, &files.path(), value).unwrap();
            }
            files
        }

        fn path(&self) -> std::path::PathBuf {
            self.folder.path().join("cpuset.cpus")
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
            let may = |_: &Entry| Ok(Presence::There);
            let undone = undo_within(&self.journal, wanted, force, may).unwrap();
            let said = undone.into_iter().map(said).collect();
            (said, fs::read_to_string(self.path()).unwrap())
        }
    }

    #[test]
    fn a_change_stays_as_long_as_a_later_one_of_the_same_thing() {
        let files = Files::changed_twice();
        let refused = "change 2 of the same was made later and is still in force";
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
        let claim = claim::of_path(&files.path(), Instant::now()).unwrap();
        let (said, now) = files.undo(|_| true, true);
        let is_refused = |said: &String| said.contains("is at work on");
        assert!(said.len() == 2 && said.iter().all(is_refused), "{said:?}");
        assert_eq!(now, "1-2");
        let refused = kernel_file::write(&files.journal, &files.path(), "2-3").unwrap_err();
        assert!(matches!(refused, Error::AtWork { .. }), "{refused}");
        assert_eq!(files.journal.in_force().unwrap().len(), 2);
        drop(claim);
        assert_eq!(files.undo(|_| true, false).1, "0-3");
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
        let (server, schema) = ("db".to_owned(), "numalab_1".to_owned());
        files
            .journal
            .record(Change::SchemaMade { server, schema })
            .unwrap();
        files.made(|entry| entry["boot"] = "before".into());
        let (said, _) = files.undo(|_| true, false);
        assert!(said[0].contains("DROP SCHEMA \"numalab_1\""), "{said:?}");
        assert_eq!(said[1..], [String::new(), String::new()]);
        assert_eq!(files.journal.in_force().unwrap().len(), 1);
    }

    #[test]
    fn what_numalab_never_makes_is_refused() {
        let files = Files::changed_twice();
        let undone = undo(&files.journal, |_| true, true).unwrap();
        let refused = |it: &Undone| matches!(it.failure, Some(Error::NotOurs { .. }));
        assert!(
            undone.len() == 2 && undone.iter().all(refused),
            "{undone:?}"
        );
        assert_eq!(fs::read_to_string(files.path()).unwrap(), "1-2");
    }
}
