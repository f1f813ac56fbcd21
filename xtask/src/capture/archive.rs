//! The files of an archive that `numalab capture` wrote, and their form as one text.

use std::io::Read;

use anyhow::{Context, Result, bail};
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

const EXPLANATION: &str = "\
# A capture of what a kernel says about its machine, written by `cargo xtask capture-tree`.
# Lines that begin with # describe the capture; they stand only before the first file.
# ==> PATH <==            a file: its content follows, up to the next such line
# A file whose line is followed directly by the next such line is empty.
# Each content ends with a newline, which the original may lack.
";

/// Renders the archive as one text.
pub(super) fn render(title: &str, archive: &Archive) -> Result<String> {
    let mut text = format!("# {title}\n{EXPLANATION}");
    for (path, reason) in &archive.missing {
        text.push_str(&format!("# not readable: {path}: {reason}\n"));
    }
    for (path, content) in &archive.files {
        if content.lines().any(is_header) {
            bail!("cannot write {path}: one of its lines looks like `==> PATH <==`");
        }
        text.push_str(&format!("==> {path} <==\n{content}"));
        if !content.is_empty() && !content.ends_with('\n') {
            text.push('\n');
        }
    }
    Ok(text)
}

fn is_header(line: &str) -> bool {
    line.starts_with("==> ") && line.ends_with(" <==")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(files: &[(&str, &str)], missing: &[(&str, &str)]) -> Result<String> {
        let owned = |list: &[(&str, &str)]| {
            let pairs = list
                .iter()
                .map(|(one, other)| (one.to_string(), other.to_string()));
            pairs.collect::<Vec<_>>()
        };
        let (files, missing) = (owned(files), owned(missing));
        let text = render("test", &Archive { files, missing })?;
        let body = text.strip_prefix("# test\n").unwrap();
        Ok(body.strip_prefix(EXPLANATION).unwrap().to_string())
    }

    #[test]
    fn each_content_ends_with_a_newline() {
        let files = [
            ("a/file", "0-3\n"),
            ("a/no-newline", "x"),
            ("a/blank-line", "\n"),
            ("a/empty", ""),
        ];
        let expected = "==> a/file <==\n0-3\n==> a/no-newline <==\nx\n==> a/blank-line <==\n\n\
            ==> a/empty <==\n";
        assert_eq!(body(&files, &[]).unwrap(), expected);
    }

    #[test]
    fn what_cannot_be_read_is_named_at_the_top() {
        assert_eq!(
            body(&[], &[("a", "denied")]).unwrap(),
            "# not readable: a: denied\n"
        );
    }

    #[test]
    fn a_content_that_looks_like_a_header_is_refused() {
        assert!(body(&[("a", "==> x <==\n")], &[]).is_err());
    }
}
