//! The link rule: the target of a Markdown link to a file of the repository exists, and so does its
//! fragment.

use std::path::{Component, Path, PathBuf};

use super::finding::Finding;
use super::project::{Project, SourceFile};

const RULE: &str = "link";

/// Checks the links of one Markdown file.
pub(super) fn check(file: &SourceFile, project: &Project) -> Vec<Finding> {
    let directory = file.path.parent().unwrap_or(Path::new(""));
    let mut findings = Vec::new();
    for (line, target) in targets(&file.text) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (path, fragment) = match target.split_once('#') {
            Some((path, fragment)) => (path, Some(fragment)),
            None => (target.as_str(), None),
        };
        let resolved = if path.is_empty() {
            Some(file.path.clone())
        } else {
            normalized(&directory.join(path))
                .filter(|path| path.as_os_str().is_empty() || project.paths.contains(path))
        };
        let problem = match (resolved, fragment) {
            (None, _) => Some(format!("`{target}` leads to no file; correct the link")),
            (Some(path), Some(fragment)) => has_no_heading(project, &path, fragment)
                .then(|| format!("`{target}` leads to no heading; correct the fragment")),
            (Some(_), None) => None,
        };
        findings.extend(problem.map(|message| Finding::new(&file.path, line, RULE, message)));
    }
    findings
}

/// Returns line and target of every `[text](target)` and `[name]: target` outside of code.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, text) in prose(text) {
        if let Some((name, target)) = text.split_once("]: ")
            && name.starts_with('[')
        {
            found.push((line, first_word(target)));
        }
        for (position, _) in text.match_indices("](") {
            let rest = &text[position + 2..];
            if let Some(end) = rest.find(')') {
                found.push((line, first_word(&rest[..end])));
            }
        }
    }
    found
}

fn first_word(target: &str) -> String {
    let word = target.split_whitespace().next().unwrap_or_default();
    word.trim_matches(['<', '>']).to_string()
}

/// Returns the lines that are not in code blocks, with their inline code blanked.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut is_code = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            let parts = line.split('`').enumerate();
            let kept = parts.map(|(part, text)| if part % 2 == 0 { text } else { "`" });
            lines.push((index + 1, kept.collect()));
        }
    }
    lines
}

/// Returns the path without `.` and `..`; `None` if it leaves the repository.
fn normalized(path: &Path) -> Option<PathBuf> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part),
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.into_iter().collect())
}

fn has_no_heading(project: &Project, path: &Path, fragment: &str) -> bool {
    let file = project
        .files
        .iter()
        .find(|file| file.path == path && file.has_extension("md"));
    file.is_some_and(|file| !headings(&file.text).any(|heading| heading == fragment))
}

/// Returns the headings in the form that links use: lower case, dashes for spaces, no punctuation.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().filter(|line| line.starts_with('#'));
    lines.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<usize> {
        let file = |path: &str, text: &str| SourceFile {
            path: path.into(),
            text: text.into(),
        };
        let project = Project {
            files: vec![
                file("docs/a.md", text),
                file("README.md", "# The title, twice\n"),
            ],
            paths: ["docs", "docs/a.md", "README.md"]
                .map(PathBuf::from)
                .to_vec(),
        };
        let found = check(&project.files[0], &project);
        found.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn links_lead_to_files_and_headings() {
        let good = [
            "[x](../README.md)",
            "[x](../README.md#the-title-twice)",
            "[x](a.md \"title\")",
            "[x](https://example.org/none)",
            "[x]: ../docs",
            "`[x](none.md)`",
            "```\n[x](none.md)\n```",
        ];
        for text in good {
            assert_eq!(problems(text), [0_usize; 0], "{text}");
        }
    }

    #[test]
    fn links_to_nothing_are_found_with_their_line() {
        let bad = [
            "[x](none.md)",
            "[x](../README.md#other)",
            "[x](#other)",
            "[x](../../outside.md)",
            "[x](/etc/passwd)",
            "[x]: none.md",
        ];
        for text in bad {
            assert_eq!(problems(&format!("# A\n{text}\n")), [2], "{text}");
        }
    }
}
