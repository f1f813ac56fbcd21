//! The dependency rule: each dependency has its reason beside it or on the line above.

use super::finding::Finding;
use super::manifest::dependencies;
use super::project::SourceFile;

const RULE: &str = "dependency-reason";

/// Checks one Cargo.toml.
pub(super) fn check(manifest: &SourceFile) -> Vec<Finding> {
    let found = dependencies(&manifest.text).into_iter();
    found
        .filter(|dependency| !dependency.is_internal && !dependency.has_reason)
        .map(|dependency| {
            let message = format!(
                "{} has no reason; add a comment beside or above it",
                dependency.package
            );
            Finding::new(&manifest.path, dependency.line, RULE, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_outside_crates_need_a_reason() {
        let text = "[dependencies]\nlibc = \"0.2\"\nmodel.workspace = true\n";
        let file = SourceFile {
            path: "Cargo.toml".into(),
            text: text.into(),
        };
        let findings = check(&file);
        assert_eq!(findings.len(), 1);
        assert!(
            findings[0]
                .to_string()
                .starts_with("Cargo.toml:2: dependency-reason: libc")
        );
    }
}
