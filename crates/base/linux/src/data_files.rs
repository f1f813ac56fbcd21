//! Regular files that hold data: those that a process has open (`/proc/PID/fd`, proc_pid_fd(5)),
//! and all below a directory.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::proc_maps::ObjectId;
use crate::{Error, Root};

/// File systems whose files the kernel generates when they are read and never caches
/// (include/uapi/linux/magic.h): proc, sysfs, cgroup2, cgroup, debugfs, tracefs.
const OF_THE_KERNEL: [u64; 6] = [
    0x9fa0,
    0x6265_6572,
    0x6367_7270,
    0x0027_e0eb,
    0x6462_6720,
    0x7472_6163,
];

/// The most files below one directory: a cluster usually has three for each table.
const FILES_MAX: usize = 1 << 20;

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// The name the user knows.
    pub name: String,
    /// Where it can be opened.
    pub path: PathBuf,
    /// The object it is.
    pub object: ObjectId,
}

/// The non-empty regular files that process `pid` has open.
///
/// # Errors
/// When the process is gone or may not be read.
pub fn open_in(root: &Root, pid: u32) -> Result<Vec<DataFile>, Error> {
    let directory = format!("proc/{pid}/fd");
    let descriptors = root.entries(&directory)?.unwrap_or_default();
    let file = |descriptor: &String| {
        let path = root.path(&format!("{directory}/{descriptor}"));
        // Skip descriptors that were closed in the meantime.
        let name = fs::read_link(&path).ok()?;
        of_path(path, &name)
    };
    Ok(descriptors.iter().filter_map(file).collect())
}

/// The non-empty regular files below a directory. Follows links to directories and visits each
/// directory once.
///
/// # Errors
/// When the directory cannot be listed. Subdirectories that cannot be listed are skipped: a server
/// removes what it no longer needs.
pub fn below(root: &Root, directory: &Path) -> Result<Vec<DataFile>, Error> {
    let path = root.path(&directory.display().to_string());
    let cause = |cause| Error::Read {
        path: path.clone(),
        cause,
    };
    let mut files = Vec::new();
    let mut seen = BTreeSet::new();
    let mut waiting = vec![path.clone()];
    fs::read_dir(&path).map_err(cause)?;
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(status) = fs::metadata(&path) else {
                continue;
            };
            if status.is_dir() && seen.insert((status.dev(), status.ino())) {
                waiting.push(path);
            } else if files.len() < FILES_MAX {
                files.extend(of_path(path.clone(), &path));
            }
        }
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

fn of_path(path: PathBuf, name: &Path) -> Option<DataFile> {
    let status = fs::metadata(&path).ok()?;
    let holds_data = status.is_file() && status.len() > 0 && !is_of_the_kernel(&path);
    holds_data.then(|| DataFile {
        name: name.display().to_string(),
        object: object(&status),
        path,
    })
}

fn is_of_the_kernel(path: &Path) -> bool {
    let system = rustix::fs::statfs(path);
    system.is_ok_and(|system| OF_THE_KERNEL.contains(&(system.f_type as u64 & 0xffff_ffff)))
}

fn object(status: &Metadata) -> ObjectId {
    ObjectId {
        major: rustix::fs::major(status.dev()),
        minor: rustix::fs::minor(status.dev()),
        inode: status.ino(),
        is_sysv: false,
        ipc_namespace: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_files_and_files_below_a_directory_are_found_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("base/1");
        fs::create_dir_all(&path).unwrap();
        std::os::unix::fs::symlink(directory.path(), path.join("loop")).unwrap();
        fs::write(path.join("empty"), "").unwrap();
        fs::write(path.join("table"), "rows").unwrap();
        let found = below(&Root::live(), directory.path()).unwrap();
        assert!(
            found.iter().all(|file| file.name.ends_with("/table")),
            "{found:?}"
        );
        assert!(!found.is_empty());
        let _open = fs::File::open(path.join("table")).unwrap();
        let open = open_in(&Root::live(), std::process::id()).unwrap();
        assert!(open.iter().any(|file| file.object == found[0].object));
        let _status = fs::File::open("/proc/self/status").unwrap();
        let open = open_in(&Root::live(), std::process::id()).unwrap();
        assert!(
            !open.iter().any(|file| file.name.starts_with("/proc/")),
            "{open:?}"
        );
        assert!(below(&Root::live(), Path::new("/nonexistent")).is_err());
    }
}
