//! Writes files of the kernel through the journal, which keeps their former content.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use journal::{
    Change, Error, Journal, Presence, ProcessIdentity, TakeBack, Thing, claim_path, deadline,
    kernel_place,
};
use linux::control_group;
use linux::kernel_place::KernelPlace;
use serde::{Deserialize, Serialize};

/// A file of the kernel (/sys, /proc/sys, a cgroup) was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileWritten {
    /// The file.
    pub path: PathBuf,
    /// What it read before, without the trailing newline.
    before: String,
    /// What was written.
    written: String,
    /// What it read afterwards, where that differs from what was written
    /// ([`Journal::note_reached`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reached: Option<String>,
}

/// The files that are written, all in cgroups. `numalab undo` writes no others.
const FILES: [&str; 5] = [
    "cpuset.cpus",
    "cpuset.mems",
    "cpuset.memory_migrate",
    "cpu.max",
    "cpu.cfs_quota_us",
];

/// Whether a path has the name of such a file.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| FILES.contains(&name))
}

/// Writes `value` to a file of the kernel, through the journal. Returns the number of the change,
/// or `None` when the file already reads so and nothing was done. The kernel may change the value;
/// what the file reads afterwards is noted with the change.
///
/// # Errors
/// When the journal or the file cannot be written, or another numalab is changing it; nothing is
/// changed then, or it is [`Error::Unfinished`].
pub fn write(journal: &Journal, path: &Path, value: &str) -> Result<Option<u64>, Error> {
    assert!(is_ours(path), "a file of the table");
    let _claim = claim_path(path, deadline())?;
    let before = control_group::read(path)?;
    if before == value {
        return Ok(None);
    }
    let entry = FileWritten {
        path: path.to_owned(),
        before: before.clone(),
        written: value.to_owned(),
        reached: None,
    }
    .record(journal)?;
    let written = control_group::write(path, value).and_then(|()| control_group::read(path));
    let reached = written.map_err(|error| {
        let is_as_before = control_group::read(path).is_ok_and(|now| now == before);
        journal.failed(entry, is_as_before, error.into())
    })?;
    if reached != value {
        journal.note_reached(entry, &reached)?;
    }
    Ok(Some(entry))
}

impl Display for FileWritten {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (path, before, written) = (self.path.display(), &self.before, &self.written);
        write!(f, "{path} set to {written:?} (was {before:?})")
    }
}

impl Change for FileWritten {
    const KIND: &'static str = "file-written";

    fn things(&self, _: &Journal, _: u64) -> Result<BTreeSet<Thing>, Error> {
        Ok([Thing::file(&self.path)].into())
    }

    fn presence(&self, _: &ProcessIdentity) -> Result<Presence, Error> {
        let place = kernel_place(&self.path)?;
        let is_ours = is_ours(&self.path) && place == KernelPlace::ControlGroup;
        Ok(match place {
            KernelPlace::Gone => Presence::Gone,
            _ => Presence::there_if(is_ours, self.path.display()),
        })
    }

    /// Restores what the file read before, unless it is gone or already reads so.
    fn take_back(&self, how: &TakeBack<'_>) -> Result<Option<String>, Error> {
        if !self.path.exists() {
            return Ok(None);
        }
        let now = control_group::read(&self.path)?;
        if now == self.before {
            return Ok(None);
        }
        if !how.force && now != self.written && self.reached.as_ref() != Some(&now) {
            return Err(Error::Undo {
                change: self.to_string(),
                reason: format!("another process has written {now:?} there since"),
            });
        }
        control_group::write(&self.path, &self.before)?;
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    // Ordinary files stand in for the kernel's; a write replaces all of one only where the values
    // have the same length.
    use std::fs;

    use std::time::Instant;

    use journal::{Kind, Kinds, Undone, undo};

    use super::*;

    /// The change, where ordinary files may be written.
    #[derive(Serialize, Deserialize)]
    struct OfOrdinaryFile(FileWritten);

    impl Display for OfOrdinaryFile {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            self.0.fmt(f)
        }
    }

    impl Change for OfOrdinaryFile {
        const KIND: &'static str = FileWritten::KIND;

        fn things(&self, journal: &Journal, entry: u64) -> Result<BTreeSet<Thing>, Error> {
            self.0.things(journal, entry)
        }

        fn presence(&self, _: &ProcessIdentity) -> Result<Presence, Error> {
            Ok(Presence::There)
        }

        fn take_back(&self, how: &TakeBack<'_>) -> Result<Option<String>, Error> {
            self.0.take_back(how)
        }
    }

    fn undo_all(journal: &Journal, force: bool) -> Vec<Undone> {
        const KINDS: Kinds = Kinds(&[&[Kind::of::<OfOrdinaryFile>()]]);
        undo(journal, KINDS, |_| true, force).unwrap()
    }

    #[test]
    fn only_files_of_the_table_in_cgroups_are_ours() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(directory.path());
        let file = directory.path().join("cpuset.cpus");
        fs::write(&file, "0-3").unwrap();
        write(&journal, &file, "0-1").unwrap();
        const KINDS: Kinds = Kinds(&[&[Kind::of::<FileWritten>()]]);
        let undone = undo(&journal, KINDS, |_| true, true).unwrap();
        let refused = matches!(undone[0].failure, Some(Error::NotOurs { .. }));
        assert!(refused, "{undone:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "0-1");
    }

    #[test]
    fn what_another_is_changing_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(directory.path());
        let file = directory.path().join("cpuset.cpus");
        fs::write(&file, "0-3").unwrap();
        let _claim = claim_path(&file, Instant::now()).unwrap();
        let refused = write(&journal, &file, "2-3").unwrap_err();
        assert!(matches!(refused, Error::AtWork { .. }), "{refused}");
        assert_eq!(journal.in_force().unwrap(), []);
    }

    #[test]
    fn what_a_file_said_comes_back_newest_first_and_once() {
        let directory = tempfile::tempdir().unwrap();
        let (file, journal) = (
            directory.path().join("cpuset.cpus"),
            Journal::in_directory(directory.path()),
        );
        fs::write(&file, "0-3\n").unwrap();
        assert!(write(&journal, &file, "0-3").unwrap().is_none());
        write(&journal, &file, "0-1").unwrap().unwrap();
        write(&journal, &file, "1-2").unwrap().unwrap();
        for expected in [2, 0] {
            let undone = undo_all(&journal, false);
            assert_eq!(undone.len(), expected);
            assert!(undone.iter().all(|it| it.failure.is_none()), "{undone:?}");
            assert_eq!(fs::read_to_string(&file).unwrap().trim(), "0-3");
        }
    }

    #[test]
    fn what_another_process_wrote_stays_unless_forced() {
        let directory = tempfile::tempdir().unwrap();
        let (file, journal) = (
            directory.path().join("cpuset.cpus"),
            Journal::in_directory(directory.path()),
        );
        fs::write(&file, "0-3").unwrap();
        write(&journal, &file, "0-1").unwrap();
        fs::write(&file, "2-2").unwrap();
        for (force, left) in [(false, 1), (true, 0)] {
            let undone = undo_all(&journal, force);
            let failure = undone[0].failure.as_ref().map(ToString::to_string);
            let says = failure.is_some_and(|it| it.contains("another process has written \"2-2\""));
            assert_eq!(says, !force);
            assert_eq!(journal.in_force().unwrap().len(), left);
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "0-3");
    }

    #[test]
    fn what_the_kernel_made_of_a_value_is_known_as_ours() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(directory.path());
        let file = directory.path().join("cpuset.cpus");
        fs::write(&file, "900").unwrap();
        let change = FileWritten {
            path: file.clone(),
            before: "100".to_owned(),
            written: "999".to_owned(),
            reached: None,
        };
        let entry = change.record(&journal).unwrap();
        journal.note_reached(entry, "900").unwrap();
        let undone = undo_all(&journal, false);
        assert!(undone[0].failure.is_none(), "{undone:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "100");
    }

    #[test]
    fn a_file_that_is_gone_has_nothing_to_take_back() {
        let directory = tempfile::tempdir().unwrap();
        let (file, journal) = (
            directory.path().join("cpuset.cpus"),
            Journal::in_directory(directory.path()),
        );
        fs::write(&file, "0").unwrap();
        write(&journal, &file, "1").unwrap();
        fs::remove_file(&file).unwrap();
        let undone = undo_all(&journal, false);
        assert!(undone[0].failure.is_none(), "{undone:?}");
        assert!(write(&journal, &file, "1").is_err());
    }
}
