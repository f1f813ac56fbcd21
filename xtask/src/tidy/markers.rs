//! The rule of unfinished work: nothing is left for later in the source, and no test is ignored.

use super::finding::Finding;
use super::project::SourceFile;

const RULE: &str = "unfinished";

/// Markers that a source may not contain, assembled here so that this file does not contain them.
const MARKERS: &[(&str, &str)] = &[
    (concat!("TO", "DO"), "finish it, or open an issue"),
    (concat!("FIX", "ME"), "finish it, or open an issue"),
    (concat!("XX", "X"), "finish it, or open an issue"),
    (concat!("todo", "!"), "finish it"),
    (concat!("unimplemented", "!"), "finish it"),
    (
        concat!("#[", "ignore"),
        "run the test, or let it say loudly which need is not met",
    ),
];

/// Checks one file, if it is a source, a script or a manifest.
pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    let is_source = ["rs", "toml", "sh", "sql", "c"]
        .iter()
        .any(|kind| file.has_extension(kind));
    if !is_source {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for (marker, advice) in MARKERS {
            if contains_word(line, marker) {
                let message = format!("`{marker}` is not allowed; {advice}");
                findings.push(Finding::new(&file.path, index + 1, RULE, message));
            }
        }
    }
    findings
}

/// Whether a line contains the marker as a word of its own.
fn contains_word(line: &str, marker: &str) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(marker).any(|(position, _)| {
        let before = line[..position].chars().next_back();
        let after = line[position + marker.len()..].chars().next();
        let ends_in_word = marker.ends_with(is_word);
        let continues = |neighbour: Option<char>| neighbour.is_some_and(is_word);
        !(continues(before) || ends_in_word && continues(after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        check(&SourceFile {
            path: "a.rs".into(),
            text: text.into(),
        })
        .len()
    }

    #[test]
    fn markers_are_found_as_words() {
        assert_eq!(count(concat!("// TO", "DO: later\n")), 1);
        assert_eq!(count(concat!("    todo", "!()\n")), 1);
        assert_eq!(count(concat!("#[", "ignore]\n")), 1);
        assert_eq!(count(concat!("#[", "ignore = \"slow\"]\n")), 1);
        assert_eq!(count("let xxx_count = 1; // MASTODON, XXXL\n"), 0);
    }

    #[test]
    fn documents_may_speak_about_markers() {
        let file = SourceFile {
            path: "a.md".into(),
            text: concat!("no TO", "DO").into(),
        };
        assert_eq!(check(&file), []);
    }
}
