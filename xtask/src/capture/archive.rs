//! The files of an archive that `numalab capture` wrote.

use std::io::Read;

use anyhow::{Context, Result};
use serde_json::Value;

/// The file that says what an archive lacks.
const MANIFEST: &str = "numalab-capture.json";

/// The content of an archive.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Archive {
    /// Paths and contents of files, in order.
    pub files: Vec<(String, String)>,
    /// Paths that could not be read, and why.
    pub missing: Vec<(String, String)>,
}

/// Reads an archive.
pub(super) fn read(bytes: &[u8]) -> Result<Archive> {
    let mut archive = Archive::default();
    let decompressed = zstd::Decoder::new(bytes).context("decompress the capture")?;
    for file in tar::Archive::new(decompressed).entries()? {
        let mut file = file.context("read the capture")?;
        let path = file.path()?.display().to_string();
        let mut text = String::new();
        let read = file.read_to_string(&mut text);
        read.with_context(|| format!("read {path} of the capture"))?;
        if path == MANIFEST {
            archive.missing = missing(&text)?;
        } else {
            archive.files.push((path, text));
        }
    }
    Ok(archive)
}

fn missing(manifest: &str) -> Result<Vec<(String, String)>> {
    let manifest: Value = serde_json::from_str(manifest).context("the manifest of the capture")?;
    let list = manifest["missing"].as_array().into_iter().flatten();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(list
        .map(|one| (word(&one["path"]), word(&one["reason"])))
        .collect())
}
