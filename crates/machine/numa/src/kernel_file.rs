//! Writes files of the kernel through the journal, which keeps their former content.

use std::path::Path;

use linux::control_group;

use crate::journal::{Change, Journal};
use crate::{Error, claim};

/// The files that are written, all in cgroups. `numalab undo` writes no others.
const FILES: [&str; 5] = [
    "cpuset.cpus",
    "cpuset.mems",
    "cpuset.memory_migrate",
    "cpu.max",
    "cpu.cfs_quota_us",
];

/// Whether a path has the name of such a file.
pub(crate) fn is_ours(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| FILES.contains(&name))
}

/// Writes `value` to a file of the kernel, through the journal. Returns the number of the change,
/// or `None` when the file already reads so and nothing was done. The kernel may change the value;
/// what the file reads afterwards is noted with the change.
///
/// # Errors
/// When the journal or the file cannot be written, or another numalab is changing it; nothing is
/// changed then.
pub fn write(journal: &Journal, path: &Path, value: &str) -> Result<Option<u64>, Error> {
    assert!(is_ours(path), "a file of the table");
    let _claim = claim::of_path(path, claim::deadline())?;
    let before = control_group::read(path)?;
    if before == value {
        return Ok(None);
    }
    let entry = journal.record(Change::FileWritten {
        path: path.to_owned(),
        before,
        written: value.to_owned(),
        reached: None,
    })?;
    if let Err(error) = control_group::write(path, value) {
        journal.mark_undone(entry)?;
        return Err(error.into());
    }
    let reached = control_group::read(path)?;
    if reached != value {
        journal.note_reached(entry, &reached)?;
    }
    Ok(Some(entry))
}

/// Restores what the file read before, unless it is gone or already reads so.
///
/// # Errors
/// [`Error::Undo`] when another process has written to the file since and `force` is not set.
pub(crate) fn undo(change: &Change, force: bool) -> Result<(), Error> {
    let Change::FileWritten {
        path,
        before,
        written,
        reached,
    } = change
    else {
        return Ok(());
    };
    if !path.exists() {
        return Ok(());
    }
    let now = control_group::read(path)?;
    if now == *before {
        return Ok(());
    }
    if !force && now != *written && reached.as_ref() != Some(&now) {
        return Err(Error::Undo {
            change: change.to_string(),
            reason: format!("another process has written {now:?} there since"),
        });
    }
    Ok(control_group::write(path, before)?)
}

#[cfg(test)]
mod tests {
    // Ordinary files stand in for the kernel's; a write replaces all of one only where the values
    // have the same length.
    use std::fs;

    use super::write;
    use crate::Undone;
    use crate::journal::{Change, Journal};
    use crate::limits::Presence;

    /// Undo where ordinary files may be written.
    fn undo_within(journal: &Journal, force: bool) -> Result<Vec<Undone>, crate::Error> {
        crate::undo::undo_within(journal, |_| true, force, |_| Ok(Presence::There))
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
            let undone = undo_within(&journal, false).unwrap();
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
            let undone = undo_within(&journal, force).unwrap();
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
        let change = Change::FileWritten {
            path: file.clone(),
            before: "100".to_owned(),
            written: "999".to_owned(),
            reached: None,
        };
        let entry = journal.record(change).unwrap();
        journal.note_reached(entry, "900").unwrap();
        let undone = undo_within(&journal, false).unwrap();
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
        let undone = undo_within(&journal, false).unwrap();
        assert!(undone[0].failure.is_none(), "{undone:?}");
        assert!(write(&journal, &file, "1").is_err());
    }
}
