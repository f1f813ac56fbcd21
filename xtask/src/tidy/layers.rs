//! The layer rule: every crate has a row in ARCHITECTURE.md and imports only what that row allows.

use std::path::{Path, PathBuf};

use super::finding::Finding;
use super::layer_table::Layer;
use super::manifest::dependencies;
use super::project::SourceFile;

const RULE: &str = "layers";
/// The crate that any crate may use in its tests.
const TESTING: &str = "testing";

/// Compares the table with the manifests of all crates.
pub(super) fn check(table: &Path, layers: &[Layer], manifests: &[&SourceFile]) -> Vec<Finding> {
    let crates: Vec<_> = manifests
        .iter()
        .filter_map(|file| file.crate_name())
        .collect();
    let mut findings = check_table(table, layers, &crates);
    for manifest in manifests {
        let Some(name) = manifest.crate_name() else {
            continue;
        };
        findings.extend(check_package_name(manifest, name));
        findings.extend(check_one_name(manifest));
        match layers.iter().find(|layer| layer.name == name) {
            Some(layer) => {
                findings.extend(check_folder(manifest, layer));
                findings.extend(check_imports(manifest, layer));
            }
            None => findings.push(Finding::new(
                &manifest.path,
                1,
                RULE,
                format!("crate {name} has no row in {}; add one", table.display()),
            )),
        }
    }
    findings
}

/// Finds rows of missing crates, duplicate rows, and rows that allow crates that are not below.
fn check_table(table: &Path, layers: &[Layer], crates: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |line, message: String| findings.push(Finding::new(table, line, RULE, message));
    for (index, layer) in layers.iter().enumerate() {
        let name = &layer.name;
        if !crates.contains(&name.as_str()) {
            add(
                layer.line,
                format!("there is no crate {name}; remove its row"),
            );
        }
        if layers[..index].iter().any(|earlier| earlier.name == *name) {
            add(layer.line, format!("crate {name} has two rows; remove one"));
        }
        for import in &layer.may_import {
            let imported = layers.iter().find(|other| other.name == *import);
            let is_below = imported.is_some_and(|other| match (other.level, layer.level) {
                (Some(below), Some(above)) => below < above,
                (Some(_), None) => true,
                // Developer tools may use what tests use.
                (None, None) => import == TESTING && name != TESTING,
                (None, Some(_)) => false,
            });
            if !is_below {
                add(
                    layer.line,
                    format!("{import} is not in a layer below {name}; remove it here"),
                );
            }
        }
    }
    findings
}

fn check_package_name(manifest: &SourceFile, name: &str) -> Vec<Finding> {
    let line = manifest
        .text
        .lines()
        .position(|line| line.starts_with("name ="));
    let is_right = manifest
        .text
        .lines()
        .any(|line| line == format!("name = \"{name}\""));
    let message = format!("the package in folder {name} must have its name");
    let finding = || Finding::new(&manifest.path, line.unwrap_or(0) + 1, RULE, message);
    if is_right {
        Vec::new()
    } else {
        vec![finding()]
    }
}

/// Finds renamed dependencies: another name hides a dependency from readers and tools.
fn check_one_name(manifest: &SourceFile) -> Vec<Finding> {
    let renamed = dependencies(&manifest.text)
        .into_iter()
        .filter(|found| found.is_renamed);
    let message = |package| format!("{package} has another name here; use it under its own");
    renamed
        .map(|found| Finding::new(&manifest.path, found.line, RULE, message(found.package)))
        .collect()
}

/// Checks that a crate is in the directory of its row: directories show the layers.
fn check_folder(manifest: &SourceFile, layer: &Layer) -> Vec<Finding> {
    let (folder, name) = (&layer.folder, &layer.name);
    let expected = match folder.as_str() {
        "." => PathBuf::from(name),
        folder => Path::new(folder).join(name),
    };
    if manifest.path.parent() == Some(&expected) {
        return Vec::new();
    }
    let message = format!("{name} belongs to {folder} by its row in ARCHITECTURE.md");
    vec![Finding::new(&manifest.path, 1, RULE, message)]
}

fn check_imports(manifest: &SourceFile, layer: &Layer) -> Vec<Finding> {
    let name = &layer.name;
    let imports = dependencies(&manifest.text)
        .into_iter()
        .filter(|found| found.is_internal);
    let is_allowed = |import: &str, is_for_tests: bool| {
        layer.may_import.contains(import) || is_for_tests && import == TESTING
    };
    imports
        .filter_map(|found| {
            let import = found.package.as_str();
            (!is_allowed(import, found.is_for_tests)).then(|| {
                let message = format!(
                    "{name} may not import {import}; move the code, or change the row of {name} \
                     in ARCHITECTURE.md in a commit of its own"
                );
                Finding::new(&manifest.path, found.line, RULE, message)
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::layer_table;
    use super::*;

    const TABLE: &str = "| layer | folder | crate | may import | unsafe |\n\
        | --- | --- | --- | --- | --- |\n| 1 | crates/base | linux | model | yes |\n\
        | 0 | crates/base | model | | no |\n| dev | crates/base | testing | model | no |\n";

    fn manifest(name: &str, rest: &str) -> SourceFile {
        SourceFile {
            path: format!("crates/base/{name}/Cargo.toml").into(),
            text: format!("[package]\nname = \"{name}\"\n{rest}"),
        }
    }

    fn check_with(table: &str, linux: &str, model: &str) -> Vec<String> {
        let files = [
            manifest("linux", linux),
            manifest("model", model),
            manifest("testing", ""),
        ];
        let (layers, _) = layer_table::parse(table);
        let references: Vec<_> = files.iter().collect();
        let findings = check(Path::new("ARCHITECTURE.md"), &layers, &references);
        findings.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn imports_from_below_and_testing_in_tests_are_fine() {
        let linux = "[dependencies]\nmodel.workspace = true\n\
            [dev-dependencies]\ntesting.workspace = true\n";
        assert_eq!(check_with(TABLE, linux, ""), Vec::<String>::new());
    }

    #[test]
    fn imports_from_above_are_named_with_their_line() {
        let findings = check_with(TABLE, "", "[dependencies]\nlinux.workspace = true\n");
        assert!(
            findings[0].starts_with("crates/base/model/Cargo.toml:4: layers: model may not import")
        );
    }

    #[test]
    fn testing_is_only_for_tests() {
        let findings = check_with(TABLE, "[dependencies]\ntesting.workspace = true\n", "");
        assert_eq!(findings.len(), 1);
    }

    #[test]
    fn the_table_lists_exactly_the_crates() {
        let more = format!("{TABLE}| 2 | crates/machine | numa | linux | no |\n");
        assert!(check_with(&more, "", "")[0].contains("no crate numa"));
        let fewer = TABLE.replace("| dev | crates/base | testing | model | no |\n", "");
        assert!(check_with(&fewer, "", "")[0].contains("crate testing has no row"));
    }

    #[test]
    fn a_crate_has_one_name_and_its_folder() {
        let renamed = "[dependencies]\nclient = { version = \"1\", package = \"postgres\" }\n";
        let found = check_with(TABLE, renamed, "");
        assert!(
            found[0].contains("postgres has another name here"),
            "{found:?}"
        );
        let moved = TABLE.replace("| crates/base | linux", "| crates/machine | linux");
        let found = check_with(&moved, "", "");
        assert!(
            found[0].contains("linux belongs to crates/machine"),
            "{found:?}"
        );
    }

    #[test]
    fn the_table_itself_keeps_the_layers() {
        let upward = TABLE.replace("| model | | no |", "| model | linux | no |");
        assert!(check_with(&upward, "", "")[0].contains("linux is not in a layer below model"));
        let with_xtask = |may_import: &str| {
            let table = format!("{TABLE}| dev | . | xtask | {may_import} | no |\n");
            let found = check_with(&table, "", "");
            found
                .iter()
                .any(|it| it.contains("is not in a layer below"))
        };
        assert!(!with_xtask("testing model") && with_xtask("xtask"));
    }
}
