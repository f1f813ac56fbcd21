//! What changed since a commit, and which tests are about it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::program::Test;
use crate::tidy::layer_table::{self, Layer};
use crate::tidy::tested_crates::about;
use crate::{program, repository};

/// The crates that changed, and those above them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Changed {
    changed: BTreeSet<String>,
    with_above: BTreeSet<String>,
    /// Modules of the tests of the binary that are about a crate that changed, or changed
    /// themselves.
    modules: BTreeSet<String>,
}

impl Changed {
    /// Looks at what differs from a commit, files that git does not know yet included.
    pub(crate) fn since(base: &str) -> Result<Self> {
        let root = repository::root();
        let differs = program::output("git", &["diff", "--name-only", base, "--"], &root)?;
        let words = ["ls-files", "--others", "--exclude-standard"];
        let unknown = program::output("git", &words, &root)?;
        let paths: Vec<_> = differs
            .lines()
            .chain(unknown.lines())
            .map(Path::new)
            .collect();
        if paths.is_empty() {
            bail!("nothing differs from {base}; name an older commit: --changed HEAD~1");
        }
        let map = fs::read_to_string(root.join("ARCHITECTURE.md"))?;
        let (layers, _) = layer_table::parse(&map);
        let changed = changed_crates(&layers, &paths);
        let with_above = above(&layers, &changed);
        let folder = root.join("crates/numalab/tests/binary");
        let modules = modules(&folder, &changed, &paths)?;
        Ok(Self {
            changed,
            with_above,
            modules,
        })
    }

    /// Whether a test is about what changed: one of a crate that changed or of one above it, or one
    /// of the binary that names a crate that changed.
    pub(crate) fn concerns(&self, test: &Test) -> bool {
        match test.program.is_of_binary() {
            true => self
                .modules
                .iter()
                .any(|it| test.name.starts_with(&format!("{it}::"))),
            false => self.with_above.contains(&test.program.package),
        }
    }

    /// What is looked at, in one line.
    pub(crate) fn line(&self) -> String {
        let list = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" ");
        format!(
            "changed: {}; unit tests of: {}; tests of the binary: {}",
            list(&self.changed),
            list(&self.with_above),
            list(&self.modules)
        )
    }
}

/// Returns the crates that have one of these files. A file of none (the workspace's own) concerns
/// no test: what it says is checked by cargo, clippy and tidy.
fn changed_crates(layers: &[Layer], paths: &[&Path]) -> BTreeSet<String> {
    // The folder of xtask is the root, `.`, which no path begins with.
    let folder = |layer: &Layer| Path::new(layer.folder.trim_start_matches('.')).join(&layer.name);
    let has = |layer: &&Layer| paths.iter().any(|path| path.starts_with(folder(layer)));
    layers
        .iter()
        .filter(has)
        .map(|it| it.name.clone())
        .collect()
}

/// Returns these crates and all that import them, directly or over others.
fn above(layers: &[Layer], changed: &BTreeSet<String>) -> BTreeSet<String> {
    let mut found = changed.clone();
    loop {
        let imports = |layer: &&Layer| !layer.may_import.is_disjoint(&found);
        let more: BTreeSet<_> = layers
            .iter()
            .filter(imports)
            .map(|it| it.name.clone())
            .collect();
        if more.is_subset(&found) {
            return found;
        }
        found.extend(more);
    }
}

/// Returns the modules below a folder that are about one of these crates, or that changed.
fn modules(folder: &Path, changed: &BTreeSet<String>, paths: &[&Path]) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut folders = vec![(folder.to_owned(), String::new())];
    while let Some((folder, above)) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if path.is_dir() {
                folders.push((path, format!("{above}{name}::")));
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = fs::read_to_string(&path)?;
                if about(&text).any(|it| changed.contains(it)) || is_one(&path, paths) {
                    found.insert(format!("{above}{name}"));
                }
            }
        }
    }
    Ok(found)
}

fn is_one(path: &Path, paths: &[&Path]) -> bool {
    paths.iter().any(|one| path.ends_with(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers() -> Vec<Layer> {
        let text = "\
| layer | folder | crate | may import | unsafe |
| --- | --- | --- | --- | --- |
| 2 | crates | top | middle | no |
| 1 | crates | middle | base | no |
| 0 | crates | base | | no |
| 0 | crates | other | | no |
| dev | . | tool | | no |
";
        layer_table::parse(text).0
    }

    #[test]
    fn what_imports_a_changed_crate_is_looked_at_too() {
        let check = |path: &str, expected: &[&str]| {
            let changed = changed_crates(&layers(), &[Path::new(path)]);
            let found = above(&layers(), &changed);
            assert_eq!(
                found,
                expected.iter().map(|it| (*it).to_owned()).collect(),
                "{path}"
            );
        };
        check("crates/base/src/lib.rs", &["base", "middle", "top"]);
        check("crates/top/tests/all.rs", &["top"]);
        check("crates/basement/src/lib.rs", &[]);
        check("README.md", &[]);
        check("tool/src/main.rs", &["tool"]);
    }
}
