//! The rule about named tests: every test that docs/security.md cites as proof exists.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::project::Project;

const RULE: &str = "named-test";

/// The page that names tests.
const PAGE: &str = "docs/security.md";

/// Checks that every function that the page names exists.
pub(super) fn check(project: &Project) -> Vec<Finding> {
    let Some(page) = project.file(PAGE) else {
        return Vec::new();
    };
    let functions: BTreeSet<&str> = project
        .rust_files()
        .flat_map(|file| file.text.lines())
        .filter_map(|line| line.trim_start().strip_prefix("fn ")?.split('(').next())
        .collect();
    let mut findings = Vec::new();
    for (index, line) in page.text.lines().enumerate() {
        let missing = test_names(line).filter(|name| !functions.contains(name));
        findings.extend(missing.map(|name| {
            let message = format!("there is no test `{name}`; correct the name");
            Finding::new(&page.path, index + 1, RULE, message)
        }));
    }
    findings
}

/// Returns the inline code that reads as a sentence.
fn test_names(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split('`').skip(1).step_by(2);
    code.filter(|text| {
        let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        text.matches('_').count() >= 2 && text.bytes().all(is_part)
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::project::SourceFile;
    use super::*;

    #[test]
    fn a_test_that_does_not_exist_is_a_finding() {
        let file = |path: &str, text: &str| SourceFile {
            path: PathBuf::from(path),
            text: text.to_owned(),
        };
        let page = "| it | `what_is_there_stays`, `what_is_gone_is_missed` | `memfd`, `a_b` |\n";
        let project = Project {
            files: vec![
                file(PAGE, page),
                file("a.rs", "    fn what_is_there_stays() {\n"),
            ],
            paths: Vec::new(),
        };
        let findings = check(&project);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].message.contains("`what_is_gone_is_missed`"));
    }
}
