//! A process that changes something holds its lock, from before it reads the thing until the change
//! is made or undone. The locks are the kernel's, on the things themselves (docs/journal.md, "Who
//! may change what at once"): they work wherever the journals are, and a kill leaves none behind.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use linux::file_lock::{self, FileLock};
use linux::{Root, proc_stat};

use crate::Error;

/// How long to retry a lock: its holder may have been killed and be exiting, or may be about to
/// finish with a file.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);

/// The lock on something that only this process may change until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Claim(#[expect(dead_code, reason = "held, not read")] FileLock);

/// The time until which to retry a lock that is requested now.
pub fn deadline() -> Instant {
    Instant::now() + PATIENCE
}

/// Takes the lock of an open file; `what` names what it protects.
///
/// # Errors
/// [`Error::AtWork`] when another process still holds it at the deadline.
pub fn claim_file(file: &File, what: &str, deadline: Instant) -> Result<Claim, Error> {
    let failed = |cause| Error::Claim {
        what: what.to_owned(),
        cause,
    };
    loop {
        if let Some(lock) = FileLock::try_take(file).map_err(failed)? {
            return Ok(Claim(lock));
        }
        if Instant::now() >= deadline {
            return Err(Error::AtWork {
                holder: holder(file),
                what: what.to_owned(),
            });
        }
        std::thread::sleep(PAUSE);
    }
}

/// Takes the lock of a file or directory by its path; `None` when it is gone.
///
/// # Errors
/// As [`claim_file`], or when it may not be read.
pub fn claim_path(path: &Path, deadline: Instant) -> Result<Option<Claim>, Error> {
    let what = path.display().to_string();
    let file = file_lock::open(path).map_err(|cause| Error::Claim {
        what: what.clone(),
        cause,
    })?;
    file.map(|file| claim_file(&file, &what, deadline))
        .transpose()
}

/// The holder of a lock in words: `process 4711`, with its name unless it is a numalab.
fn holder(file: &File) -> String {
    let root = Root::live();
    let Some(pid) = file_lock::holder(&root, file) else {
        return "a process that cannot be seen from here".to_owned();
    };
    match proc_stat::read(&root, pid) {
        Ok(stat) if stat.name != "numalab" => format!("process {pid} ({})", stat.name),
        _ => format!("process {pid}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_has_one_who_changes_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nr_hugepages");
        assert!(claim_path(&path, Instant::now()).unwrap().is_none());
        std::fs::write(&path, "0\n").unwrap();
        let claim = claim_path(&path, Instant::now()).unwrap().unwrap();
        let refused = claim_path(&path, Instant::now()).unwrap_err().to_string();
        let expected = format!("process {} (", std::process::id());
        assert!(refused.starts_with(&expected), "{refused}");
        let what = format!("has locked {}", path.display());
        assert!(refused.ends_with(&what), "{refused}");
        drop(claim);
        assert!(claim_path(&path, Instant::now()).unwrap().is_some());
    }

    #[test]
    fn a_holder_that_is_on_its_way_out_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let claim = claim_path(folder.path(), Instant::now()).unwrap();
        std::thread::scope(|scope| {
            let other =
                scope.spawn(|| claim_path(folder.path(), deadline()).map(|it| it.is_some()));
            drop(claim);
            assert!(other.join().unwrap().unwrap());
        });
    }
}
