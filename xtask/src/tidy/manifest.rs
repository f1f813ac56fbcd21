//! The dependencies of a Cargo.toml, with their lines and the comments beside them; each that is
//! not ours has its reason beside it or on the line above.

use super::finding::Finding;
use super::project::SourceFile;

/// One dependency, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dependency {
    /// The line of its key, counted from 1.
    pub line: usize,
    /// The name of the package.
    pub package: String,
    /// Whether the key is another name.
    pub is_renamed: bool,
    /// Whether only tests use it.
    pub is_for_tests: bool,
    /// Whether it is a crate of this workspace.
    pub is_internal: bool,
    /// Whether its reason is beside it or on the line above.
    pub has_reason: bool,
}

/// Returns the dependencies in all sections of a manifest.
///
/// The sections are read line by line, because a TOML parser loses the comments.
pub(super) fn dependencies(text: &str) -> Vec<Dependency> {
    let mut found: Vec<Dependency> = Vec::new();
    let mut section = Section::Other;
    let mut depth = 0_i32;
    let mut previous_is_comment = false;
    for (index, line) in text.lines().enumerate() {
        let (code, comment) = split_comment(line);
        let code = code.trim();
        if depth == 0 && code.starts_with('[') {
            section = Section::of(code);
            if let Section::One {
                package,
                is_for_tests,
            } = &section
            {
                let has_reason = previous_is_comment || comment.is_some();
                found.push(dependency(index, package, "", *is_for_tests, has_reason));
            }
        } else if let (0, Section::Many { is_for_tests }) = (depth, &section)
            && let Some((key, value)) = code.split_once('=')
        {
            let has_reason = previous_is_comment || comment.is_some();
            found.push(dependency(index, key, value, *is_for_tests, has_reason));
        } else if let (0, Section::One { .. }, Some(last)) = (depth, &section, found.last_mut()) {
            last.has_reason |= comment.is_some();
            last.is_internal |= quoted_after(code, "path").is_some();
            last.is_internal |= code.replace(' ', "") == "workspace=true";
            if let Some(package) = quoted_after(code, "package") {
                last.is_renamed |= last.package != package;
                last.package = package;
            }
        } else if depth > 0
            && let Some(last) = found.last_mut()
        {
            // A dependency over several lines may have its reason at the end of any of them.
            last.has_reason |= comment.is_some();
        }
        depth += change_of_depth(code);
        previous_is_comment = code.is_empty() && comment.is_some_and(|text| !text.is_empty());
    }
    found
}

#[derive(Debug)]
enum Section {
    /// `[dependencies]` and similar sections.
    Many { is_for_tests: bool },
    /// `[dependencies.NAME]`.
    One { package: String, is_for_tests: bool },
    /// Anything else.
    Other,
}

impl Section {
    fn of(header: &str) -> Self {
        let name = header.trim_matches(['[', ']']);
        let (table, package) = match name.rsplit_once("dependencies") {
            Some((before, rest)) if rest.is_empty() || rest.starts_with('.') => (before, rest),
            _ => return Self::Other,
        };
        let is_for_tests = table.ends_with("dev-");
        match package.strip_prefix('.') {
            None => Self::Many { is_for_tests },
            Some(package) => Self::One {
                package: package.to_string(),
                is_for_tests,
            },
        }
    }
}

fn dependency(
    index: usize,
    key: &str,
    value: &str,
    is_for_tests: bool,
    has_reason: bool,
) -> Dependency {
    let key = key.trim().trim_matches('"');
    // The workspace's manifest lists only its own crates.
    let of_workspace = key.strip_suffix(".workspace");
    let key = of_workspace.unwrap_or(key).to_string();
    let package = quoted_after(value, "package").unwrap_or_else(|| key.clone());
    let is_internal = of_workspace.is_some() || quoted_after(value, "path").is_some();
    Dependency {
        line: index + 1,
        is_renamed: package != key,
        package,
        is_for_tests,
        is_internal,
        has_reason,
    }
}

/// Returns `x` of `… package = "x" …`.
fn quoted_after(value: &str, key: &str) -> Option<String> {
    let compact = value.replace([' ', '\t'], "");
    let (_, rest) = compact.split_once(&format!("{key}=\""))?;
    rest.split('"').next().map(str::to_string)
}

/// Returns the text before a `#` outside of quotes, and the comment after it.
fn split_comment(line: &str) -> (&str, Option<&str>) {
    let mut is_quoted = false;
    for (position, character) in line.char_indices() {
        match character {
            '"' => is_quoted = !is_quoted,
            '#' if !is_quoted => return (&line[..position], Some(line[position + 1..].trim())),
            _ => {}
        }
    }
    (line, None)
}

fn change_of_depth(code: &str) -> i32 {
    let count =
        |characters: [char; 2]| i32::try_from(code.matches(characters).count()).unwrap_or(i32::MAX);
    if code.starts_with('[') {
        0
    } else {
        count(['[', '{']) - count([']', '}'])
    }
}

const RULE: &str = "dependency-reason";

/// Checks one Cargo.toml.
pub(super) fn check_reasons(manifest: &SourceFile) -> Vec<Finding> {
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

    fn check(text: &str, expected: &[(usize, &str, bool, bool, bool)]) {
        let found: Vec<_> = dependencies(text)
            .into_iter()
            .map(|d| {
                (
                    d.line,
                    d.package,
                    d.is_for_tests,
                    d.is_internal,
                    d.has_reason,
                )
            })
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|&(a, b, c, d, e)| (a, b.to_string(), c, d, e))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn reasons_stand_beside_or_above() {
        check(
            "[dependencies]\n# Why.\na = \"1\"\n",
            &[(3, "a", false, false, true)],
        );
        check(
            "[dependencies]\na = \"1\" # Why.\n",
            &[(2, "a", false, false, true)],
        );
        check(
            "[dependencies]\na = \"1\"\n",
            &[(2, "a", false, false, false)],
        );
        check(
            "[dependencies]\n# Why.\na = \"1\"\nb = \"#\"\n",
            &[(3, "a", false, false, true), (4, "b", false, false, false)],
        );
        check(
            "[dependencies]\n#\na = \"1\"\n",
            &[(3, "a", false, false, false)],
        );
    }

    #[test]
    fn all_kinds_of_sections_are_read() {
        let text = "[package]\nname = \"x\"\n[dev-dependencies]\na = \"1\"\n\
            [target.'cfg(unix)'.dependencies]\nb = \"1\"\n[dependencies.c]\nversion = \"1\"\n\
            [workspace.dependencies]\nd = \"1\"\n[lints]\nworkspace = true\n";
        check(
            text,
            &[
                (4, "a", true, false, false),
                (6, "b", false, false, false),
                (7, "c", false, false, false),
                (10, "d", false, false, false),
            ],
        );
    }

    #[test]
    fn crates_of_the_workspace_are_known_and_so_are_other_names() {
        let renamed = "words = { path = \"../model\", package = \"model\" }";
        let text = format!("[dependencies]\n{renamed}\nstats.workspace = true\n");
        check(
            &text,
            &[
                (2, "model", false, true, false),
                (3, "stats", false, true, false),
            ],
        );
        let renamed: Vec<bool> = dependencies(&text).iter().map(|it| it.is_renamed).collect();
        assert_eq!(renamed, [true, false]);
    }

    #[test]
    fn a_table_of_its_own_is_read_to_its_end() {
        let text = "[dependencies.words]\npackage=\"model\"\npath=\"../model\"\n\
            [dependencies.b] # Why.\nversion = \"1\"\n";
        check(
            text,
            &[
                (1, "model", false, true, false),
                (4, "b", false, false, true),
            ],
        );
    }

    #[test]
    fn a_dependency_may_span_lines() {
        let first = "a = { version = \"1\", features = [\n  \"b\", # Why.\n] }";
        let text = format!("[dependencies]\n{first}\nc = \"1\"\n");
        check(
            &text,
            &[(2, "a", false, false, true), (5, "c", false, false, false)],
        );
    }

    #[test]
    fn only_outside_crates_need_a_reason() {
        let text = "[dependencies]\nlibc = \"0.2\"\nmodel.workspace = true\n";
        let file = SourceFile {
            path: "Cargo.toml".into(),
            text: text.into(),
        };
        let findings = check_reasons(&file);
        assert_eq!(findings.len(), 1);
        assert!(
            findings[0]
                .to_string()
                .starts_with("Cargo.toml:2: dependency-reason: libc")
        );
    }
}
