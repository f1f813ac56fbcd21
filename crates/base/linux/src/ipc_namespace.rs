//! The IPC namespace of a process (`ipc_namespaces(7)`). Each namespace numbers its own System V
//! segments, so a `shmid` identifies a segment only together with its namespace.

use std::fs;
use std::path::Path;

use crate::Root;

/// The inode number of the IPC namespace of process `pid`; `None` when the process is gone, may not
/// be read, or was captured without it.
///
/// On a live machine `/proc/PID/ns/ipc` is a link to `ipc:[4026531839]`; in a capture it is a file
/// with this text.
pub fn of_process(root: &Root, pid: u32) -> Option<u64> {
    at(root, &pid.to_string())
}

/// The namespace of this process, or of the process that captured the tree.
pub fn own(root: &Root) -> Option<u64> {
    at(root, "self")
}

fn at(root: &Root, process: &str) -> Option<u64> {
    let path = format!("proc/{process}/ns/ipc");
    match linked(&root.path(&path)) {
        Some(text) => parse(&text),
        None => parse(root.read_optional(&path).ok()??.text()),
    }
}

/// The text of the link, which is not the name of a file.
fn linked(path: &Path) -> Option<String> {
    Some(fs::read_link(path).ok()?.to_str()?.to_owned())
}

fn parse(text: &str) -> Option<u64> {
    let number = text.trim().strip_prefix("ipc:[")?.strip_suffix(']')?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{of_process, own, parse};
    use crate::Root;

    #[test]
    fn the_number_is_read_from_the_words_of_the_link() {
        assert_eq!(parse("ipc:[4026531839]\n"), Some(4_026_531_839));
        for text in ["", "ipc:[]", "net:[1]", "ipc:[-1]", "ipc:[1"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn this_process_is_in_one_live_and_captured() {
        let here = own(&Root::live()).unwrap();
        assert_eq!(of_process(&Root::live(), std::process::id()), Some(here));
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("proc/7/ns")).unwrap();
        std::fs::write(directory.path().join("proc/7/ns/ipc"), "ipc:[12]\n").unwrap();
        let root = Root::at(directory.path()).unwrap();
        assert_eq!(
            (of_process(&root, 7), of_process(&root, 8)),
            (Some(12), None)
        );
    }
}
