//! One captured file, and how it is read.

use std::io::ErrorKind;

use linux::{Error, Root};

use super::condense;
use crate::task_policy::FIRST_LINE_BYTES;

/// What a path of the captured machine holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The text of a file, as far as it is captured.
    Text(String),
    /// The file exists but cannot be read, for this reason.
    Unreadable(String),
}

/// A path, relative to the root of the captured machine, and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path, without a leading slash.
    pub path: String,
    /// Its content.
    pub content: Content,
}

/// Reads what is captured of one path; `None` when it does not exist or has nothing to read.
pub fn read(root: &Root, path: &str) -> Option<Entry> {
    if let Some(content) = ipc_namespace(root, path) {
        let path = path.to_owned();
        return Some(Entry { path, content });
    }
    if condense::is_of_thread(path) && path.ends_with("/numa_maps") {
        // The kernel walks the pages of each mapping that is read, and the first line has the
        // policy of the thread; the mappings are those of the process.
        let start = root.read_start(path, FIRST_LINE_BYTES).ok()??;
        let (_, line) = start.lines().next()?;
        let (path, content) = (path.to_owned(), Content::Text(format!("{line}\n")));
        return Some(Entry { path, content });
    }
    let content = match root.read_lossy(path) {
        Ok(file) => Content::Text(condense::condensed(path, file.text())),
        Err(Error::Read { cause, .. }) if is_absence(&cause) => return None,
        Err(Error::NotAFile { .. }) => return None,
        Err(Error::Read { cause, .. }) => Content::Unreadable(cause.to_string()),
        Err(error) => Content::Unreadable(error.to_string()),
    };
    let path = path.to_owned();
    Some(Entry { path, content })
}

/// The IPC namespace of a process, a link that leads to no file: its text is captured.
fn ipc_namespace(root: &Root, path: &str) -> Option<Content> {
    let pid = path.strip_prefix("proc/")?.strip_suffix("/ns/ipc")?;
    let number = linux::ipc_namespace::of_process(root, pid.parse().ok()?)?;
    Some(Content::Text(format!("ipc:[{number}]\n")))
}

/// Whether the file does not exist, or its process is gone.
fn is_absence(cause: &std::io::Error) -> bool {
    /// `ESRCH` (`errno(3)`): how reads of /proc/PID fail after the process is gone.
    const NO_SUCH_PROCESS: i32 = 3;
    matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        || cause.raw_os_error() == Some(NO_SUCH_PROCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_read_and_what_is_not_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("proc")).unwrap();
        std::fs::write(directory.path().join("proc/meminfo"), "MemTotal: 1 kB\n").unwrap();
        let root = Root::at(directory.path()).unwrap();
        let found = read(&root, "proc/meminfo").unwrap();
        assert_eq!(found.content, Content::Text("MemTotal: 1 kB\n".to_owned()));
        for path in ["proc/stat", "proc/meminfo/x", "proc"] {
            assert_eq!(read(&root, path), None, "{path}");
        }
    }
}
