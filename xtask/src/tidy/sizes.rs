//! The size rule: what does not fit on a few screens is two things. clippy measures functions
//! (`too_many_lines`).

use syn::Item;
use syn::spanned::Spanned;

use super::file_imports::is_of_tests;
use super::finding::Finding;
use super::project::SourceFile;

/// Maximum number of lines of a file without its tests.
const FILE_LINES: usize = 400;
/// Maximum number of characters of a line.
const LINE_CHARACTERS: usize = 100;

/// Finds lines that are too long; there are no exceptions to this.
pub(super) fn check_lines(file: &SourceFile) -> Vec<Finding> {
    let lines = file.text.lines().enumerate();
    let lengths = lines.map(|(index, line)| (index + 1, line.chars().count()));
    let message = |length| format!("{length} characters; break it below {LINE_CHARACTERS}");
    lengths
        .filter(|&(_, length)| length > LINE_CHARACTERS)
        .map(|(line, length)| Finding::new(&file.path, line, "line-length", message(length)))
        .collect()
}

/// Finds a file that is too long without its tests.
pub(super) fn check_file(file: &SourceFile, parsed: &syn::File) -> Option<Finding> {
    if file.is_test() {
        return None;
    }
    let tests = parsed.items.iter().filter(|item| is_test_module(item));
    let test_lines: usize = tests.map(|item| line_count(item.span())).sum();
    let size = file.text.lines().count() - test_lines;
    let message = format!("{size} lines without tests; split it below {FILE_LINES}");
    (size > FILE_LINES).then(|| Finding::new(&file.path, 1, "file-size", message))
}

fn is_test_module(item: &Item) -> bool {
    matches!(item, Item::Mod(module) if is_of_tests(&module.attrs))
}

fn line_count(span: proc_macro2::Span) -> usize {
    span.end().line - span.start().line + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_too_long(path: &str, text: &str) -> bool {
        let file = SourceFile {
            path: path.into(),
            text: text.into(),
        };
        check_file(&file, &syn::parse_file(text).unwrap()).is_some()
    }

    #[test]
    fn files_have_at_most_400_lines_without_tests() {
        let body = "const _: () = ();\n".repeat(400);
        assert!(!is_too_long("a.rs", &body));
        let tests = format!("#[cfg(test)]\nmod tests {{\n{body}}}\n");
        assert!(!is_too_long("a.rs", &format!("{body}{tests}")));
        assert!(is_too_long("a.rs", &format!("//! X.\n{body}{tests}")));
        let twice = format!("{body}{body}");
        assert!(!is_too_long("crates/x/tests/a.rs", &twice));
        assert!(!is_too_long("crates/x/src/a_tests.rs", &twice));
    }

    #[test]
    fn lines_are_counted_in_characters() {
        let check = |text: String| {
            check_lines(&SourceFile {
                path: "a.rs".into(),
                text,
            })
            .len()
        };
        assert_eq!(check("é".repeat(100)), 0);
        assert_eq!(check("e".repeat(101)), 1);
    }
}
