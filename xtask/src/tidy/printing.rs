//! The printing rule: nothing below the binary prints, so no crate there may allow it.

use super::finding::Finding;
use super::project::SourceFile;

const RULE: &str = "printing";
/// The crates that may print.
const MAY_PRINT: &[&str] = &["numalab", "xtask"];

/// Checks that one file of a crate, a source or a Cargo.toml, does not switch the lints off.
pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
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
        .map(|(index, _)| Finding::new(&file.path, index + 1, RULE, message))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&SourceFile {
            path: path.into(),
            text: text.into(),
        })
        .len()
    }

    #[test]
    fn the_print_lints_stay_on_below_the_binary() {
        let allow = "#![allow(clippy::print_stdout)]\n";
        assert_eq!(count("crates/base/model/src/lib.rs", allow), 1);
        assert_eq!(
            count("crates/base/model/Cargo.toml", "print_stderr = \"allow\"\n"),
            1
        );
        assert_eq!(count("crates/numalab/src/main.rs", allow), 0);
        assert_eq!(count("xtask/src/main.rs", allow), 0);
        assert_eq!(count("crates/base/model/tests/a.rs", allow), 0);
        assert_eq!(count("Cargo.toml", "print_stdout = \"warn\"\n"), 0);
    }
}
