//! The rule about tests of the binary: each of their modules names the crates that it tests, for
//! `cargo xtask check --changed`.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::layer_table;
use super::project::Project;

const RULE: &str = "tested-crates";
const FOLDER: &str = "crates/numalab/tests/binary";
/// The line that names them.
const ABOUT: &str = "//! Tests of ";

/// Checks that every module with tests names crates that exist.
pub(super) fn check(project: &Project) -> Vec<Finding> {
    let map = project.file("ARCHITECTURE.md");
    let (layers, _) = layer_table::parse(map.map_or("", |map| &map.text));
    let known: BTreeSet<_> = layers.iter().map(|layer| layer.name.as_str()).collect();
    let is_meant = |text: &str| text.contains("\n#[test]\n");
    let files = project
        .rust_files()
        .filter(|file| file.path.starts_with(FOLDER));
    let mut findings = Vec::new();
    for file in files.filter(|file| is_meant(&file.text)) {
        let mut named = about(&file.text).peekable();
        if named.peek().is_none() {
            let message =
                format!("say in its head which crates it tests: `{ABOUT}linux, journal.`");
            findings.push(Finding::new(&file.path, 1, RULE, message));
        }
        findings.extend(named.filter(|name| !known.contains(name)).map(|name| {
            let message = format!("`{name}`, which it tests, is no crate");
            Finding::new(&file.path, 1, RULE, message)
        }));
    }
    findings
}

/// Returns the crates that the head of a module names: `//! Tests of linux, journal.`
pub(crate) fn about(text: &str) -> impl Iterator<Item = &str> {
    let line = text.lines().find_map(|line| line.strip_prefix(ABOUT));
    let names = line.unwrap_or_default().trim_end_matches('.').split(", ");
    names.filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::project::SourceFile;
    use super::*;

    #[test]
    fn a_module_of_tests_names_crates_that_exist() {
        let finds = |head: &str, expected: &[&str]| {
            let table = "| layer | folder | crate | may import | unsafe |\n| --- | --- | --- | --- \
                         | --- |\n| 0 | crates | linux | | no |\n";
            let file = |path: &str, text: String| SourceFile {
                path: path.into(),
                text,
            };
            let project = Project {
                files: vec![
                    file("ARCHITECTURE.md", table.to_owned()),
                    file(
                        &format!("{FOLDER}/it.rs"),
                        format!("//! It.\n{head}\n#[test]\nfn it() {{}}\n"),
                    ),
                ],
                paths: Vec::new(),
            };
            let found = check(&project);
            let found: Vec<_> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found.len(), expected.len(), "{found:?}");
            for (found, expected) in found.iter().zip(expected) {
                assert!(found.contains(expected), "{found}");
            }
        };
        finds("//!\n//! Tests of linux.", &[]);
        finds("", &["which crates it tests"]);
        finds(
            "//! Tests of linux, luck.",
            &["`luck`, which it tests, is no crate"],
        );
    }
}
