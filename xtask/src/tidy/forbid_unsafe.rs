//! The rule about unsafe code: only crates whose row allows it may contain it.

use std::path::Path;

use super::finding::Finding;
use super::layer_table::Layer;
use super::project::SourceFile;

const RULE: &str = "forbid-unsafe";
const ATTRIBUTE: &str = "#![forbid(unsafe_code)]";

/// Checks the root files of the crates that may not contain unsafe code.
pub(super) fn check(layers: &[Layer], rust_files: &[&SourceFile]) -> Vec<Finding> {
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
    let finding = |file: &&SourceFile| Finding::new(&file.path, 1, RULE, message.clone());
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

#[cfg(test)]
mod tests {
    use super::super::layer_table;
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        let table = "| layer | folder | crate | may import | unsafe |\n\
            | --- | --- | --- | --- | --- |\n\
            | 1 | crates/base | linux | | yes |\n| 0 | crates/base | model | | no |\n";
        let file = SourceFile {
            path: path.into(),
            text: text.into(),
        };
        check(&layer_table::parse(table).0, &[&file]).len()
    }

    #[test]
    fn roots_of_safe_crates_forbid_unsafe_code() {
        assert_eq!(
            count(
                "crates/base/model/src/lib.rs",
                "//! X.\n#![forbid(unsafe_code)]\n"
            ),
            0
        );
        assert_eq!(count("crates/base/model/src/lib.rs", "//! X.\n"), 1);
        assert_eq!(count("crates/base/model/src/bin/tool.rs", "//! X.\n"), 1);
        assert_eq!(count("crates/base/model/src/id.rs", "//! X.\n"), 0);
        assert_eq!(count("crates/base/linux/src/lib.rs", "//! X.\n"), 0);
    }
}
