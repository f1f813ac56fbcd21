//! The journal of changes to the machine: written and synced before each change is made.
//!
//! docs/journal.md describes the file.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use linux::Root;
use linux::private_folder::PrivateFolder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Error, Origin, ProcessIdentity};

/// A change that is still in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Number, ascending within the file.
    pub entry: u64,
    /// The process that made the change.
    #[serde(flatten)]
    pub made_by: ProcessIdentity,
    /// The change.
    pub change: Recorded,
}

/// A change as a line of the journal holds it, whether or not this program knows its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    kind: String,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

impl Recorded {
    /// Its kind.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// A change of this kind, with its fields.
    pub(crate) fn new(kind: &str, change: impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Recorded {
            kind: kind.to_owned(),
            fields: serde_json::from_value(serde_json::to_value(change)?)?,
        })
    }

    /// What its fields describe.
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(Value::Object(self.fields.clone()))
    }
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Made(Box<Entry>),
    Undone { undone: u64 },
    Reached { reached: u64, value: String },
}

/// Name of the journal's file, and prefix of the lists of moved pages beside it.
const FILE: &str = "journal.jsonl";
const LIST: &str = "moved-";
/// The field of a change that [`Journal::note_reached`] sets.
const REACHED: &str = "reached";

/// The journal, a file of one JSON document per line. Its entries are acted on, also by root, so
/// only files that no other user can have written are read ([`linux::private_folder`]).
#[derive(Debug, Clone)]
pub struct Journal {
    directory: PathBuf,
}

impl Journal {
    /// The journal in `directory`, which is created on the first write.
    pub fn in_directory(directory: &Path) -> Self {
        Journal {
            directory: directory.to_owned(),
        }
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.directory.join(FILE)
    }

    /// The file that lists the pages that change number `entry` moved.
    pub fn list_path(&self, entry: u64) -> PathBuf {
        self.directory.join(list(entry))
    }

    /// Creates that file, or truncates it.
    ///
    /// # Errors
    /// [`Error::StateFolder`].
    pub fn new_list(&self, entry: u64) -> Result<File, Error> {
        let file = PrivateFolder::open_or_make(&self.directory)?.append(&list(entry))?;
        file.set_len(0).map_err(|cause| self.error(cause))?;
        Ok(file)
    }

    /// Returns the text of that file; `None` when it does not exist.
    ///
    /// # Errors
    /// [`Error::StateFolder`], or [`Error::Journal`] when it cannot be read.
    pub fn list(&self, entry: u64) -> Result<Option<String>, Error> {
        self.text(&list(entry))
    }

    fn text(&self, name: &str) -> Result<Option<String>, Error> {
        let Some(folder) = PrivateFolder::open(&self.directory)? else {
            return Ok(None);
        };
        let Some(mut file) = folder.read(name)? else {
            return Ok(None);
        };
        let mut text = String::new();
        match file.read_to_string(&mut text) {
            Ok(_) => Ok(Some(text)),
            Err(cause) => Err(Error::Journal {
                path: self.directory.join(name),
                cause,
            }),
        }
    }

    /// Writes and syncs that `change` is about to be made; returns its number.
    ///
    /// # Errors
    /// [`Error::Journal`]; then the change must not be made.
    pub(crate) fn record(&self, change: Recorded) -> Result<u64, Error> {
        self.with_file(|file, entries, last_entry| {
            if entries.is_empty() {
                file.set_len(0)?;
            }
            let entry = last_entry.checked_add(1).ok_or_else(|| {
                io::Error::other(format!(
                    "there is no number after that of change {last_entry}"
                ))
            })?;
            let made_by = ProcessIdentity::this_process(&Root::live());
            append(
                file,
                &Line::Made(Box::new(Entry {
                    entry,
                    made_by,
                    change,
                })),
            )?;
            Ok(entry)
        })
    }

    /// The changes in force that were made on this machine since it booted, oldest first.
    ///
    /// # Errors
    /// As [`Journal::in_force`].
    pub fn of_this_boot(&self, root: &Root) -> Result<Vec<Entry>, Error> {
        let mut entries = self.in_force()?;
        entries.retain(|entry| entry.made_by.origin(root) == Origin::ThisBoot);
        Ok(entries)
    }

    /// Records that change number `entry` is undone, and removes the list of its pages.
    ///
    /// # Errors
    /// [`Error::Journal`]; the change then stays listed, and undoing it again is harmless.
    pub fn mark_undone(&self, entry: u64) -> Result<(), Error> {
        // The list goes first, so that a kill leaves none behind. Most changes have none.
        if let Some(folder) = PrivateFolder::open(&self.directory)? {
            folder.remove(&list(entry))?;
        }
        self.with_file(|file, _, _| append(file, &Line::Undone { undone: entry }))
    }

    /// Records what a file reads after change number `entry` wrote to it, where that differs from
    /// what was written: from then on the change has it in its field `reached`.
    ///
    /// # Errors
    /// [`Error::Journal`].
    pub fn note_reached(&self, entry: u64, value: &str) -> Result<(), Error> {
        let (reached, value) = (entry, value.to_owned());
        let line = Line::Reached { reached, value };
        self.with_file(|file, _, _| append(file, &line))
    }

    /// The changes still in force, oldest first. A journal that was never written has none.
    ///
    /// [`Error::Journal`] when the file cannot be read, or a line is not a journal entry; a
    /// truncated last line is ignored.
    pub fn in_force(&self) -> Result<Vec<Entry>, Error> {
        let text = self.text(FILE)?.unwrap_or_default();
        parse(&text)
            .map(|(entries, _)| entries)
            .map_err(|cause| self.error(cause))
    }

    fn with_file<T>(
        &self,
        work: impl FnOnce(&mut File, &[Entry], u64) -> io::Result<T>,
    ) -> Result<T, Error> {
        let mut file = PrivateFolder::open_or_make(&self.directory)?.append(FILE)?;
        let run = || {
            file.lock()?;
            let mut text = String::new();
            file.read_to_string(&mut text)?;
            let (entries, last_entry) = parse(&text)?;
            if !text.ends_with('\n') {
                // A crash cut the last line; it was not synced, so its change was not made.
                let whole = text.rfind('\n').map_or(0, |end| end + 1);
                file.set_len(whole as u64)?;
            }
            file.seek(io::SeekFrom::End(0))?;
            let answer = work(&mut file, &entries, last_entry)?;
            file.sync_all()?;
            Ok(answer)
        };
        run().map_err(|cause| self.error(cause))
    }

    pub(crate) fn error(&self, cause: io::Error) -> Error {
        Error::Journal {
            path: self.path(),
            cause,
        }
    }
}

fn list(entry: u64) -> String {
    format!("{LIST}{entry}.jsonl")
}

fn append(file: &mut File, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    file.write_all(text.as_bytes())
}

/// The entries still in force, and the highest number ever used. A last line without a newline was
/// cut by a crash and is ignored.
fn parse(text: &str) -> io::Result<(Vec<Entry>, u64)> {
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let mut entries: Vec<Entry> = Vec::new();
    let mut last_entry = 0;
    for (number, line) in (1..).zip(text[..whole].lines()) {
        let parsed = serde_json::from_str(line).map_err(|cause| {
            io::Error::other(format!("line {number} is not a journal entry: {cause}"))
        })?;
        match parsed {
            Line::Made(entry) => {
                last_entry = last_entry.max(entry.entry);
                entries.push(*entry);
            }
            Line::Undone { undone } => entries.retain(|entry| entry.entry != undone),
            Line::Reached {
                reached: number,
                value,
            } => {
                let of_number = |entry: &&mut Entry| entry.entry == number;
                if let Some(entry) = entries.iter_mut().find(of_number) {
                    let fields = &mut entry.change.fields;
                    fields.insert(REACHED.to_owned(), Value::String(value));
                }
            }
        }
    }
    Ok((entries, last_entry))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use linux::Root;

    use super::{Journal, Recorded};

    fn change(name: &str) -> Recorded {
        let fields = serde_json::json!({ "directory": name });
        Recorded::new("made", fields).unwrap()
    }

    #[test]
    fn what_is_recorded_is_in_force_until_undone() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(&directory.path().join("new"));
        assert_eq!(journal.in_force().unwrap(), []);
        let first = journal.record(change("/a")).unwrap();
        let second = journal.record(change("/b")).unwrap();
        journal.mark_undone(first).unwrap();
        let left = journal.in_force().unwrap();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].entry, second);
        assert_eq!(left[0].change, change("/b"));
        journal.mark_undone(second).unwrap();
        assert_eq!(journal.in_force().unwrap(), []);
    }

    #[test]
    fn changes_of_another_boot_are_told_from_those_of_this_one() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(directory.path());
        journal.record(change("/a")).unwrap();
        assert_eq!(journal.of_this_boot(&Root::live()).unwrap().len(), 1);
        let other = directory.path().join("proc/sys/kernel/random");
        std::fs::create_dir_all(&other).unwrap();
        let boot = "00000000-0000-4000-8000-000000000000\n";
        std::fs::write(other.join("boot_id"), boot).unwrap();
        let other = Root::at(directory.path()).unwrap();
        assert_eq!(journal.of_this_boot(&other).unwrap(), []);
    }

    #[test]
    fn the_list_of_a_change_is_a_file_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(directory.path());
        assert_eq!(journal.list(2).unwrap(), None);
        let mut list = journal.new_list(2).unwrap();
        list.write_all(b"of the second\n").unwrap();
        assert_eq!(journal.list(2).unwrap().unwrap(), "of the second\n");
        assert_eq!(journal.list(3).unwrap(), None);
        let path = directory.path().join("moved-2.jsonl");
        assert_eq!(journal.list_path(2), path);
        assert_eq!(std::fs::read_to_string(path).unwrap(), "of the second\n");
    }

    #[test]
    fn what_a_file_reads_afterwards_is_noted_with_its_change() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(directory.path());
        let first = journal.record(change("/a")).unwrap();
        let second = journal.record(change("/b")).unwrap();
        journal.note_reached(second, "0-1").unwrap();
        let in_force = journal.in_force().unwrap();
        let noted = serde_json::json!({ "directory": "/b", "reached": "0-1" });
        assert_eq!(
            (in_force[0].entry, &in_force[0].change),
            (first, &change("/a"))
        );
        assert_eq!(in_force[1].change, Recorded::new("made", noted).unwrap());
    }

    #[test]
    fn the_list_of_a_change_goes_with_it() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(directory.path());
        let entry = journal.record(change("/a")).unwrap();
        journal.new_list(entry).unwrap();
        assert!(journal.list_path(entry).is_file());
        journal.mark_undone(entry).unwrap();
        assert!(!journal.list_path(entry).exists());
    }

    #[test]
    fn a_journal_with_nothing_in_force_starts_afresh() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(directory.path());
        for _ in 0..50 {
            let entry = journal.record(change("/a")).unwrap();
            journal.mark_undone(entry).unwrap();
        }
        let length = std::fs::metadata(journal.path()).unwrap().len();
        assert!(length < 500, "{length} bytes");
    }

    #[test]
    fn the_last_number_of_all_is_followed_by_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(directory.path());
        journal.record(change("/a")).unwrap();
        let text = std::fs::read_to_string(journal.path()).unwrap();
        let last = text.replace("\"entry\":1", &format!("\"entry\":{}", u64::MAX));
        std::fs::write(journal.path(), last).unwrap();
        let error = journal.record(change("/b")).unwrap_err().to_string();
        assert!(error.contains("no number after"), "{error}");
    }

    #[test]
    fn a_cut_last_line_is_forgotten_and_a_foreign_line_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(directory.path());
        journal.record(change("/a")).unwrap();
        let whole = std::fs::read_to_string(journal.path()).unwrap();
        for cut in 1..whole.len() {
            std::fs::write(journal.path(), format!("{whole}{}", &whole[..cut])).unwrap();
            let expected = if cut == whole.len() { 2 } else { 1 };
            assert_eq!(journal.in_force().unwrap().len(), expected, "cut at {cut}");
        }
        journal.record(change("/b")).unwrap();
        assert_eq!(journal.in_force().unwrap().len(), 2);
        std::fs::write(journal.path(), "hello\n").unwrap();
        let error = journal.in_force().unwrap_err().to_string();
        assert!(error.contains("line 1 is not a journal entry"), "{error}");
    }
}
