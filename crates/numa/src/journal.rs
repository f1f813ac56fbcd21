//! The journal of changes to the machine: written and synced before each change is made.
//!
//! docs/journal.md describes the file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use linux::Root;
use serde::{Deserialize, Serialize};

use crate::{Error, Maker, ObjectWords};

/// A change to something outside our own processes, with what is needed to take it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Change {
    /// A cgroup was made.
    GroupCreated {
        /// Its directory.
        directory: PathBuf,
    },
    /// A controller was enabled for the children of a cgroup (v2, `cgroup.subtree_control`).
    ControllerEnabled {
        /// Directory of the parent.
        directory: PathBuf,
        /// The controller.
        controller: String,
    },
    /// A throw-away database cluster was made; see [`crate::scratch_cluster`].
    ClusterMade {
        /// Its folder.
        directory: PathBuf,
    },
    /// A schema was made in a database of a server that is not ours. Only that server can take it
    /// back, which the binary asks.
    SchemaMade {
        /// How to reach the server, without a password.
        server: String,
        /// The schema.
        schema: String,
    },
    /// A file of the kernel (/sys, /proc/sys, a cgroup) was written; see [`crate::kernel_file`].
    FileWritten {
        /// The file.
        path: PathBuf,
        /// What it said before, without the newline at its end.
        before: String,
        /// What was written.
        written: String,
        /// What it said afterwards, where that is not what was written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reached: Option<String>,
    },
    /// A processor group was made under a name, to stay; see [`crate::groups`].
    GroupNamed {
        /// Its name.
        name: String,
        /// Its directories, one for each hierarchy it is in.
        directories: Vec<PathBuf>,
        /// The unit of systemd that it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// A process was moved into a processor group.
    MemberMoved {
        /// Its id.
        pid: u32,
        /// When it started: the kernel gives ids anew.
        start_ticks: u64,
        /// Directories of the cgroups it was in.
        from: Vec<PathBuf>,
        /// Directories of the group.
        to: Vec<PathBuf>,
    },
    /// A pool of huge pages was resized; see [`crate::pools`].
    PoolResized {
        /// `nr_hugepages` of one node and size.
        path: PathBuf,
        /// Pages before.
        before: u64,
        /// Pages asked for; the kernel may stop in between.
        asked: u64,
    },
    /// The memory policy of a mounted tmpfs was set; see [`crate::mount_policy`].
    MountPolicySet {
        /// Where it is mounted.
        mount_point: String,
        /// What `mpol=` said before; `None`: it had none.
        before: Option<String>,
        /// What it says since.
        written: String,
    },
    /// The memory policy of a shared object was set; see [`crate::moving`].
    SegmentPolicySet {
        /// The object.
        object: ObjectWords,
        /// Its name in /proc/PID/maps.
        name: String,
        /// The policies it had, by pages.
        before: Vec<PolicyArea>,
        /// The policy of all of it since.
        written: PolicyWords,
    },
    /// Pages were moved; which ones, and where from, is in [`Journal::moved_pages`].
    PagesMoved {
        /// The target, as the user named it.
        target: String,
        /// Where to, as the user said it.
        to: String,
        /// Its processes.
        pids: Vec<u32>,
    },
}

/// A memory policy as the kernel counts them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyWords {
    /// `MPOL_…` with its flags.
    pub mode: i32,
    /// Its nodes.
    pub nodes: model::NodeSet,
}

/// The policy of some pages of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyArea {
    /// Number of the first page in the object.
    pub first: u64,
    /// How many pages.
    pub pages: u64,
    /// Their policy.
    pub policy: PolicyWords,
}

impl Change {
    /// Whether it is still there after the machine was started anew.
    pub fn outlives_a_boot(&self) -> bool {
        matches!(self, Change::ClusterMade { .. } | Change::SchemaMade { .. })
    }
}

/// A change that is still in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Number, ascending within the file.
    pub entry: u64,
    /// The process that made the change.
    #[serde(flatten)]
    pub maker: Maker,
    /// The change.
    pub change: Change,
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Made(Entry),
    Undone { undone: u64 },
    Reached { reached: u64, value: String },
}

/// The journal, a file of one JSON document per line.
#[derive(Debug, Clone)]
pub struct Journal {
    path: PathBuf,
}

impl Journal {
    /// The journal in `directory`, which is made when something is first written.
    pub fn in_directory(directory: &Path) -> Self {
        Journal {
            path: directory.join("journal.jsonl"),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that says which pages change number `entry` moved.
    pub fn moved_pages(&self, entry: u64) -> PathBuf {
        self.path.with_file_name(format!("moved-{entry}.jsonl"))
    }

    /// Records that pages of these processes are about to be moved, as [`Journal::record`], unless
    /// another process that still runs is moving pages of one of them.
    ///
    /// # Errors
    /// [`Error::AtWork`] with that process; else as [`Journal::record`].
    pub fn record_move(&self, target: &str, to: &str, pids: &[u32]) -> Result<u64, Error> {
        let change = Change::PagesMoved {
            target: target.to_owned(),
            to: to.to_owned(),
            pids: pids.to_owned(),
        };
        self.record_unless(change, |entries| mover_of(entries, pids))?
    }

    fn record_unless(
        &self,
        change: Change,
        refusal: impl FnOnce(&[Entry]) -> Option<Error>,
    ) -> Result<Result<u64, Error>, Error> {
        self.with_file(|file, entries, last_entry| {
            if let Some(refusal) = refusal(entries) {
                return Ok(Err(refusal));
            }
            if entries.is_empty() {
                file.set_len(0)?;
            }
            let entry = last_entry + 1;
            let line = Line::Made(Entry {
                entry,
                maker: Maker::this_process(&Root::live()),
                change,
            });
            append(file, &line)?;
            Ok(Ok(entry))
        })
    }

    /// Writes and syncs that `change` is about to be made; answers its number.
    ///
    /// # Errors
    /// [`Error::Journal`]; then the change must not be made.
    pub fn record(&self, change: Change) -> Result<u64, Error> {
        self.record_unless(change, |_| None)?
    }

    /// Writes that change number `entry` is taken back.
    ///
    /// # Errors
    /// [`Error::Journal`]; the change then stays listed, and undoing it again does no harm.
    pub fn mark_undone(&self, entry: u64) -> Result<(), Error> {
        self.with_file(|file, _, _| append(file, &Line::Undone { undone: entry }))
    }

    /// Writes what a file says after change number `entry` wrote to it, where that differs from
    /// what was written.
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
    /// # Errors
    /// [`Error::Journal`] when the file cannot be read, or a line other than a last cut one is
    /// not ours.
    pub fn in_force(&self) -> Result<Vec<Entry>, Error> {
        if !self.path.exists() {
            return Ok(Vec::new());
        }
        let text = fs::read_to_string(&self.path).map_err(|cause| self.error(cause))?;
        parse(&text)
            .map(|(entries, _)| entries)
            .map_err(|cause| self.error(cause))
    }

    fn with_file<T>(
        &self,
        work: impl FnOnce(&mut File, &[Entry], u64) -> io::Result<T>,
    ) -> Result<T, Error> {
        let run = || {
            let directory = self.path.parent().unwrap_or(Path::new("/"));
            fs::create_dir_all(directory)?;
            let mut file = OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .open(&self.path)?;
            file.lock()?;
            let mut text = String::new();
            file.read_to_string(&mut text)?;
            let (entries, last_entry) = parse(&text)?;
            if !text.is_empty() && !text.ends_with('\n') {
                // A crash cut the last line: its change was not made, since it was not synced.
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

    fn error(&self, cause: io::Error) -> Error {
        Error::Journal {
            path: self.path.clone(),
            cause,
        }
    }
}

/// The refusal when another process that still runs is moving pages of one of `pids`.
pub(crate) fn mover_of(entries: &[Entry], pids: &[u32]) -> Option<Error> {
    let root = Root::live();
    let own = Maker::this_process(&root);
    let found = entries.iter().find_map(|entry| match &entry.change {
        Change::PagesMoved {
            pids: moved,
            target,
            ..
        } => {
            let is_other = entry.maker != own && entry.maker.still_runs(&root);
            let shares = moved.iter().any(|pid| pids.contains(pid));
            (is_other && shares).then(|| (entry.maker.pid, target.clone()))
        }
        _ => None,
    });
    found.map(|(pid, target)| Error::AtWork { pid, target })
}

fn append(file: &mut File, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    file.write_all(text.as_bytes())
}

/// The entries still in force, and the highest number ever used. A last line without its newline
/// was cut by a crash and is left out.
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
                entries.push(entry);
            }
            Line::Undone { undone } => entries.retain(|entry| entry.entry != undone),
            Line::Reached {
                reached: number,
                value,
            } => {
                let of_number = |entry: &&mut Entry| entry.entry == number;
                let change = entries.iter_mut().find(of_number).map(|it| &mut it.change);
                if let Some(Change::FileWritten { reached, .. }) = change {
                    *reached = Some(value);
                }
            }
        }
    }
    Ok((entries, last_entry))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Change, Journal};

    fn change(name: &str) -> Change {
        Change::GroupCreated {
            directory: PathBuf::from(name),
        }
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
        assert_eq!((left[0].entry, &left[0].change), (second, &change("/b")));
        journal.mark_undone(second).unwrap();
        assert_eq!(journal.in_force().unwrap(), []);
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
