//! Writing a capture: a tar archive compressed with zstd, with a manifest as its last file.

use std::io::{self, Write};

use residency::capture::{Content, Entry};
use serde::{Deserialize, Serialize};

/// The name of the manifest in the archive.
const MANIFEST: &str = "numalab-capture.json";

/// The name of the manifest's format.
const FORMAT: &str = "numalab.capture/1";

/// The manifest of a capture: what it holds and what is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// [`FORMAT`].
    pub format: String,
    /// The version of numalab that wrote it.
    pub numalab: String,
    /// The time of the capture, by the clock of the machine.
    pub captured_at: String,
    /// The requested target.
    pub target: Option<String>,
    /// How many processes the target had.
    pub processes: usize,
    /// How many files the archive has, without the manifest.
    pub files: usize,
    /// Total size of these files before compression.
    pub files_bytes: u64,
    /// Files that exist on the machine but could not be read.
    pub missing: Vec<Missing>,
}

/// A file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Missing {
    /// Its path.
    pub path: String,
    /// Why.
    pub reason: String,
}

impl Manifest {
    /// Returns the manifest of an empty capture.
    pub(crate) fn new(captured_at: String, target: Option<String>, processes: usize) -> Self {
        Manifest {
            format: FORMAT.to_owned(),
            numalab: env!("CARGO_PKG_VERSION").to_owned(),
            captured_at,
            target,
            processes,
            files: 0,
            files_bytes: 0,
            missing: Vec::new(),
        }
    }
}

/// An archive that is being written.
pub(crate) struct Packer<W: Write> {
    archive: tar::Builder<zstd::Encoder<'static, W>>,
    manifest: Manifest,
}

impl<W: Write> Packer<W> {
    /// Starts an archive.
    pub(crate) fn new(to: W, manifest: Manifest) -> io::Result<Self> {
        let mut compressed = zstd::Encoder::new(to, zstd::DEFAULT_COMPRESSION_LEVEL)?;
        compressed.include_checksum(true)?;
        let archive = tar::Builder::new(compressed);
        Ok(Packer { archive, manifest })
    }

    /// Adds a file, or records in the manifest that it could not be read.
    pub(crate) fn add(&mut self, entry: Entry) -> io::Result<()> {
        match entry.content {
            Content::Text(text) => {
                self.manifest.files += 1;
                self.manifest.files_bytes += text.len() as u64;
                self.file(&entry.path, text.as_bytes())
            }
            Content::Unreadable(reason) => {
                let path = entry.path;
                self.manifest.missing.push(Missing { path, reason });
                Ok(())
            }
        }
    }

    /// Adds the manifest and finishes the archive.
    pub(crate) fn finish(mut self) -> io::Result<(W, Manifest)> {
        let text = serde_json::to_string_pretty(&self.manifest)? + "\n";
        self.file(MANIFEST, text.as_bytes())?;
        let written = self.archive.into_inner()?.finish()?;
        Ok((written, self.manifest))
    }

    /// Appends a file. Owner, time and permissions of the kernel's files carry no information and
    /// are not kept.
    fn file(&mut self, path: &str, content: &[u8]) -> io::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        self.archive.append_data(&mut header, path, content)
    }
}
