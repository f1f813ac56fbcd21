//! The rules that lints stay on: only crates whose row allows it may contain unsafe code, and
//! nothing below the binary prints.

use std::path::Path;

use super::finding::Finding;
use super::layer_table::Layer;
use super::project::SourceFile;

const UNSAFE_RULE: &str = "forbid-unsafe";
const ATTRIBUTE: &str = "#![forbid(unsafe_code)]";

/// Checks the root files of the crates that may not contain unsafe code.
pub(super) fn check_unsafe(layers: &[Layer], rust_files: &[&SourceFile]) -> Vec<Finding> {
    let may_be_unsafe = |name: &str| {
        layers
            .iter()
            .find(|layer| layer.name == name)
            .is_none_or(|layer| layer.may_be_unsafe)
    };
    let lacks = |file: &&&SourceFile| {
        is_root(&file.path)
            && file.crate_name().is_some_and(|name| !may_be_unsafe(name))
            && !file.text.lines().any(|line| line == ATTRIBUTE)
    };
    let message = format!("the crate may not hold unsafe code; add `{ATTRIBUTE}`");
    let finding = |file: &&SourceFile| Finding::new(&file.path, 1, UNSAFE_RULE, message.clone());
    rust_files.iter().filter(lacks).map(finding).collect()
}

/// Whether the compiler starts at this file: lib.rs, main.rs, programs in src/bin.
fn is_root(path: &Path) -> bool {
    path.ends_with("src/lib.rs")
        || path.ends_with("src/main.rs")
        || path
            .parent()
            .is_some_and(|parent| parent.ends_with("src/bin"))
}

const PRINTING_RULE: &str = "printing";
/// The crates that may print.
const MAY_PRINT: &[&str] = &["numalab", "xtask"];

/// Checks that one file of a crate, a source or a Cargo.toml, does not switch the lints off.
pub(super) fn check_printing(file: &SourceFile) -> Vec<Finding> {
    if file
        .crate_name()
        .is_none_or(|name| MAY_PRINT.contains(&name))
    {
        return Vec::new();
    }
    // A test may print which of its needs is not met.
    if file.is_test() {
        return Vec::new();
    }
    let switches_off = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        ["print_stdout", "print_stderr"]
            .iter()
            .any(|lint| code.contains(lint))
    };
    let lines = file
        .text
        .lines()
        .enumerate()
        .filter(|(_, line)| switches_off(line));
    let message = "only numalab and xtask print; send an event to an observer instead";
    lines
        .map(|(index, _)| Finding::new(&file.path, index + 1, PRINTING_RULE, message))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::layer_table;
    use super::*;

    fn unguarded(path: &str, text: &str) -> usize {
        let table = "| layer | folder | crate | may import | unsafe |\n\
            | --- | --- | --- | --- | --- |\n\
            | 1 | crates/base | linux | | yes |\n| 0 | crates/base | model | | no |\n";
        let file = SourceFile {
            path: path.into(),
            text: text.into(),
        };
        check_unsafe(&layer_table::parse(table).0, &[&file]).len()
    }

    #[test]
    fn roots_of_safe_crates_forbid_unsafe_code() {
        assert_eq!(
            unguarded(
                "crates/base/model/src/lib.rs",
                "//! X.\n#![forbid(unsafe_code)]\n"
            ),
            0
        );
        assert_eq!(unguarded("crates/base/model/src/lib.rs", "//! X.\n"), 1);
        assert_eq!(
            unguarded("crates/base/model/src/bin/tool.rs", "//! X.\n"),
            1
        );
        assert_eq!(unguarded("crates/base/model/src/id.rs", "//! X.\n"), 0);
        assert_eq!(unguarded("crates/base/linux/src/lib.rs", "//! X.\n"), 0);
    }

    fn printing(path: &str, text: &str) -> usize {
        check_printing(&SourceFile {
            path: path.into(),
            text: text.into(),
        })
        .len()
    }

    #[test]
    fn the_print_lints_stay_on_below_the_binary() {
        let allow = "#![allow(clippy::print_stdout)]\n";
        assert_eq!(printing("crates/base/model/src/lib.rs", allow), 1);
        assert_eq!(
            printing("crates/base/model/Cargo.toml", "print_stderr = \"allow\"\n"),
            1
        );
        assert_eq!(printing("crates/numalab/src/main.rs", allow), 0);
        assert_eq!(printing("xtask/src/main.rs", allow), 0);
        assert_eq!(printing("crates/base/model/tests/a.rs", allow), 0);
        assert_eq!(printing("Cargo.toml", "print_stdout = \"warn\"\n"), 0);
    }
}
