//! The file of `--record`.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use live::recording::{Header, RecordingError, Writer};
use model::exit::ExitCode;
use model::{Snapshot, counted, shell_word};

use super::Shown;
use crate::failure::Failure;
use crate::output;

/// A recording that is being made.
pub(crate) struct RecordingFile {
    path: PathBuf,
    writer: Writer<File>,
    snapshots: u64,
}

impl RecordingFile {
    /// Creates the file; an existing one is not overwritten, for it may be of an incident.
    pub(crate) fn create(path: &Path, shown: &Shown) -> Result<Self, Failure> {
        let file = File::create_new(path).map_err(|cause| cannot_create(path, &cause))?;
        let (host, kernel) = linux::process::host_and_kernel();
        let header = Header {
            host,
            kernel,
            target: shown.target.clone().unwrap_or("machine".to_owned()),
            every_s: shown.interval_s,
            ..Header::default()
        };
        let writer = Writer::new(file, &header).map_err(|error| cannot_write(path, &error))?;
        Ok(Self {
            path: path.to_owned(),
            writer,
            snapshots: 0,
        })
    }

    /// Adds a snapshot.
    pub(crate) fn add(&mut self, snapshot: &Snapshot) -> Result<(), Failure> {
        let written = self.writer.write(snapshot);
        written.map_err(|error| cannot_write(&self.path, &error))?;
        self.snapshots += 1;
        Ok(())
    }

    /// Ends the recording, and says on stderr what it has.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let Self {
            path,
            writer,
            snapshots,
        } = self;
        let finished = writer.finish();
        finished.map_err(|error| cannot_write(&path, &error))?;
        output::talk(&format!(
            "recorded {}; show them: numalab watch --replay {}",
            counted(snapshots, "snapshot"),
            shell_word(&path.display().to_string())
        ));
        Ok(())
    }
}

fn cannot_create(path: &Path, cause: &io::Error) -> Failure {
    let exit_code = match cause.kind() {
        io::ErrorKind::PermissionDenied => ExitCode::NotPermitted,
        _ => ExitCode::Usage,
    };
    let message = format!("cannot create {}: {cause}", path.display());
    Failure::new(exit_code, message).advise("name a file that does not exist yet")
}

fn cannot_write(path: &Path, cause: &RecordingError) -> Failure {
    let message = format!("cannot write {}: {cause}", path.display());
    Failure::new(ExitCode::Usage, message)
        .advise("what it has so far can be replayed; make room, or name another file")
}
