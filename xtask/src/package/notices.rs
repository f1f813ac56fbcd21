//! The licences of what is linked into the program: their authors ask that the texts go with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::files::names;
use crate::{program, repository};

/// How files with licences and notices begin, in small letters.
const BEGINNINGS: [&str; 5] = ["licen", "copying", "copyright", "notice", "unlicense"];

/// A crate of others.
struct Part {
    /// Its name and version.
    name: String,
    /// The licence that its manifest names.
    licence: String,
    /// Its texts.
    texts: Vec<String>,
}

/// Returns who made what is in the program, and the texts, each once.
pub(super) fn text() -> Result<String> {
    let linked = linked()?;
    let words = "metadata --format-version 1 --locked";
    let words: Vec<&str> = words.split(' ').collect();
    let metadata = program::output("cargo", &words, &repository::root())?;
    let metadata: Value = serde_json::from_str(&metadata).context("cargo metadata")?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let mut parts = Vec::new();
    for package in packages {
        let field = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
        let name = format!("{} {}", field("name"), field("version"));
        // Without a source it is our own.
        if package["source"].is_null() || !linked.contains(&name) {
            continue;
        }
        let manifest = field("manifest_path");
        let folder = Path::new(&manifest).parent().context("a path")?;
        parts.push(Part {
            licence: field("license"),
            texts: texts(folder)?,
            name,
        });
    }
    Ok(shown(&parts))
}

/// The crates that are linked into the program, by name and version.
fn linked() -> Result<BTreeSet<String>> {
    let words = "tree --locked --package numalab --edges normal --prefix none --format {p}";
    let words: Vec<&str> = words.split(' ').collect();
    let tree = program::output("cargo", &words, &repository::root())?;
    Ok(tree.lines().filter_map(name_and_version).collect())
}

/// ```text
/// zstd-sys v2.0.16+zstd.1.5.7
/// ```
fn name_and_version(line: &str) -> Option<String> {
    let mut words = line.split(' ');
    let (name, version) = (words.next()?, words.next()?);
    Some(format!("{name} {}", version.strip_prefix('v')?))
}

/// The texts in the folder of a crate, and in those just below it, such as C sources.
fn texts(folder: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for name in names(folder)? {
        let path = folder.join(&name);
        if path.is_dir() {
            for below in names(&path)? {
                texts.extend(text_of(&path.join(below)));
            }
        }
        texts.extend(text_of(&path));
    }
    Ok(texts)
}

fn text_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.to_lowercase();
    let is_meant = BEGINNINGS.iter().any(|start| name.starts_with(start));
    let is_source = [".rs", ".c", ".h", ".html"]
        .iter()
        .any(|end| name.ends_with(end));
    let is_meant = is_meant && !is_source && path.is_file();
    is_meant.then(|| fs::read_to_string(path).ok())?
}

fn shown(parts: &[Part]) -> String {
    let mut all =
        "Parts of others in numalab, and their licences. SQLite, which is in it as well, \
                   is in the public domain.\n\n"
            .to_owned();
    let mut owners: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for part in parts {
        writeln!(all, "{}: {}", part.name, part.licence).expect("a string takes it");
        for text in &part.texts {
            owners.entry(text.trim()).or_default().push(&part.name);
        }
    }
    for (text, mut names) in owners {
        names.dedup();
        let line = "=".repeat(80);
        write!(all, "\n{line}\n{}\n\n{text}\n", names.join(", ")).expect("a string takes it");
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_named_as_in_metadata() {
        let line = "zstd-sys v2.0.16+zstd.1.5.7";
        let found = name_and_version(line);
        assert_eq!(found.as_deref(), Some("zstd-sys 2.0.16+zstd.1.5.7"));
        let own = name_and_version("model v0.1.0 (/a/crates/base/model)");
        assert_eq!(own.as_deref(), Some("model 0.1.0"));
        assert_eq!(name_and_version(""), None);
    }

    #[test]
    fn a_text_of_two_crates_is_there_once() {
        let part = |name: &str, text: &str| Part {
            name: name.to_owned(),
            licence: "MIT".to_owned(),
            texts: vec![text.to_owned()],
        };
        let text = shown(&[part("a 1", "one\n"), part("b 2", "two"), part("c 3", "one")]);
        assert!(text.contains("\na 1: MIT\nb 2: MIT\nc 3: MIT\n"), "{text}");
        assert!(text.contains("\na 1, c 3\n\none\n"), "{text}");
        assert_eq!(text.matches("\none\n").count(), 1, "{text}");
    }

    #[test]
    fn every_crate_that_is_linked_brings_a_licence() {
        let text = text().unwrap();
        let (names, texts) = text.split_once("\n\n=").unwrap();
        let names = names.lines().skip(2);
        let without = names.filter(|line| line.ends_with(": "));
        assert_eq!(without.collect::<Vec<_>>(), Vec::<&str>::new());
        for owner in ["zstd-sys ", "libsqlite3-sys ", "clap "] {
            assert!(texts.contains(owner), "{owner}");
        }
    }
}
