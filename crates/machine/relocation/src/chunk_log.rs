//! Which pages were moved, and from where: one line of JSON for each chunk, synced before the chunk
//! is moved (docs/journal.md).

use model::counted;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use journal::{Error, Journal, Thing};
use serde::{Deserialize, Serialize};

use super::owner::Owner;
use super::sequence;

/// One chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChunkLine {
    /// The owner of the pages.
    pub of: Owner,
    /// Size of a page.
    pub page_bytes: u64,
    /// Number of the first page.
    pub first: u64,
    /// The node of each page before, as [`sequence::encode`] writes it.
    pub from: String,
    /// The node of each page after the move, in the same form.
    pub to: String,
}

/// The file, open for appending.
#[derive(Debug)]
pub(super) struct ChunkLog {
    file: File,
    path: PathBuf,
}

impl ChunkLog {
    /// Creates the file of an entry, or truncates it.
    ///
    /// # Errors
    /// [`Error::StateFolder`].
    pub(super) fn create(journal: &Journal, entry: u64) -> Result<Self, Error> {
        Ok(ChunkLog {
            file: journal.new_list(entry)?,
            path: journal.list_path(entry),
        })
    }

    /// Writes lines and syncs them.
    ///
    /// # Errors
    /// [`Error::Journal`]; then their pages must not be moved.
    pub(super) fn add(&mut self, lines: &[ChunkLine]) -> Result<(), Error> {
        let mut write = || -> io::Result<()> {
            let mut text = String::new();
            for line in lines {
                text.push_str(&serde_json::to_string(line)?);
                text.push('\n');
            }
            self.file.write_all(text.as_bytes())?;
            self.file.sync_data()
        };
        write().map_err(|cause| Error::Journal {
            path: self.path.clone(),
            cause,
        })
    }
}

/// The memory of an entry's chunks, by its owners.
///
/// # Errors
/// As [`read`].
pub(super) fn things(journal: &Journal, entry: u64) -> Result<BTreeSet<Thing>, Error> {
    let lines = read(journal, entry)?;
    let owners: BTreeSet<Owner> = lines.into_iter().map(|line| line.of).collect();
    Ok(owners.iter().map(|owner| owner.thing("pages")).collect())
}

/// Reads the lines of a file, oldest first; none when there is no file, since no chunk was moved
/// then. Ignores a last line without a newline: a crash cut it before its chunk was moved.
///
/// # Errors
/// When the file cannot be read, or a line is malformed.
pub(super) fn read(journal: &Journal, entry: u64) -> Result<Vec<ChunkLine>, Error> {
    let error = |cause| Error::Journal {
        path: journal.list_path(entry),
        cause,
    };
    let text = journal.list(entry)?.unwrap_or_default();
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text[..whole].lines()) {
        let refused = |reason: String| {
            error(io::Error::other(format!(
                "line {number} is not of moved pages: {reason}"
            )))
        };
        let parsed: ChunkLine =
            serde_json::from_str(line).map_err(|cause| refused(cause.to_string()))?;
        let pages = |text: &str| sequence::decode(text).map(|nodes| nodes.len() as u64);
        let (from, to) = (
            pages(&parsed.from).map_err(refused)?,
            pages(&parsed.to).map_err(refused)?,
        );
        let end = parsed.first.checked_add(from);
        let bytes = end.and_then(|end| end.checked_mul(parsed.page_bytes));
        if from != to || parsed.page_bytes == 0 || bytes.is_none() {
            return Err(refused(format!(
                "{} from, {} to",
                counted(from, "page"),
                counted(to, "page")
            )));
        }
        lines.push(parsed);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn line(first: u64) -> ChunkLine {
        ChunkLine {
            of: Owner::Process {
                pid: 7,
                start_ticks: 8,
            },
            page_bytes: 4096,
            first,
            from: "0x512".to_owned(),
            to: "(0,1)x256".to_owned(),
        }
    }

    #[test]
    fn lines_survive_and_a_cut_one_is_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(directory.path());
        let path = directory.path().join("moved-1.jsonl");
        assert_eq!(read(&journal, 1).unwrap(), []);
        let mut log = ChunkLog::create(&journal, 1).unwrap();
        log.add(&[line(0), line(512)]).unwrap();
        assert_eq!(read(&journal, 1).unwrap(), [line(0), line(512)]);
        let whole = fs::read_to_string(&path).unwrap();
        let second = whole.find('\n').unwrap() + 1;
        for cut in second..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(read(&journal, 1).unwrap().len(), 1, "cut at {cut}");
        }
    }

    #[test]
    fn foreign_lines_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(directory.path());
        let path = directory.path().join("moved-1.jsonl");
        ChunkLog::create(&journal, 1).unwrap();
        let text = serde_json::to_string(&line(0)).unwrap();
        for wrong in [
            "{}".to_owned(),
            text.replace("0x512", "0x511"),
            text.replace("(0,1)x256", "hello"),
            text.replace("\"first\":0", "\"first\":18446744073709551615"),
            text.replace("4096", "0"),
        ] {
            fs::write(&path, format!("{text}\n{wrong}\n")).unwrap();
            let error = read(&journal, 1).unwrap_err().to_string();
            assert!(error.contains("line 2 is not of moved pages"), "{error}");
        }
    }
}
