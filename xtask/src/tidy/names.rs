//! The file rules: each file begins with what lives in it and is named after a concept, and lib.rs
//! and mod.rs only list and re-export.

use std::path::Path;

use syn::Item;
use syn::spanned::Spanned;

use super::finding::Finding;
use super::project::SourceFile;

/// Names that say nothing about what a file holds.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "common", "helper", "helpers", "imp", "misc",
];

/// Checks one Rust file and its name.
pub(super) fn check(file: &SourceFile, parsed: &syn::File) -> Vec<Finding> {
    let mut findings = check_name(&file.path);
    if !file.text.starts_with("//! ") {
        let message = "the first line is not `//! …`; say what lives in the file and what must not";
        findings.push(Finding::new(&file.path, 1, "first-line", message));
    }
    if only_lists(&file.path) {
        findings.extend(
            parsed
                .items
                .iter()
                .filter_map(|item| check_listed(&file.path, item)),
        );
    }
    findings
}

fn check_name(path: &Path) -> Vec<Finding> {
    let is_empty = |name: &str| EMPTY_NAMES.contains(&name);
    let names = path.iter().filter_map(|part| part.to_str());
    let found = names
        .map(|name| name.trim_end_matches(".rs"))
        .filter(|name| is_empty(name));
    found
        .map(|name| {
            let message = format!("`{name}` names no concept; name the file by what it holds");
            Finding::new(path, 1, "file-name", message)
        })
        .collect()
}

/// Whether a file may only list: lib.rs and mod.rs, but not below tests/, where Cargo takes every
/// other file name for a program.
fn only_lists(path: &Path) -> bool {
    let is_list = path.ends_with("lib.rs") || path.ends_with("mod.rs");
    is_list && !path.iter().any(|part| part == "tests")
}

/// Checks one item of such a file: `mod name;` and `use` are lists; everything else belongs in
/// another file.
fn check_listed(path: &Path, item: &Item) -> Option<Finding> {
    let what = match item {
        Item::Use(_) | Item::ExternCrate(_) => return None,
        Item::Mod(module) if module.content.is_none() => return None,
        Item::Mod(module) => format!("the body of module {}", module.ident),
        Item::Fn(function) => format!("function {}", function.sig.ident),
        Item::Struct(item) => format!("struct {}", item.ident),
        Item::Enum(item) => format!("enum {}", item.ident),
        Item::Trait(item) => format!("trait {}", item.ident),
        Item::Const(item) => format!("constant {}", item.ident),
        Item::Type(item) => format!("type {}", item.ident),
        Item::Impl(_) => "an impl block".to_string(),
        _ => "an item".to_string(),
    };
    let message = format!("{what} does not belong here; this file only lists and re-exports");
    Some(Finding::new(
        path,
        item.span().start().line,
        "only-lists",
        message,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<&'static str> {
        let file = SourceFile {
            path: path.into(),
            text: text.into(),
        };
        let parsed = syn::parse_file(text).unwrap();
        check(&file, &parsed)
            .into_iter()
            .map(|finding| finding.rule)
            .collect()
    }

    #[test]
    fn a_file_begins_with_its_purpose() {
        assert_eq!(rules("src/a.rs", "//! X.\nfn f() {}\n"), Vec::<&str>::new());
        assert_eq!(rules("src/a.rs", "fn f() {}\n"), ["first-line"]);
    }

    #[test]
    fn names_without_a_concept_are_refused_for_files_and_directories() {
        assert_eq!(rules("src/utils.rs", "//! X.\n"), ["file-name"]);
        assert_eq!(rules("src/common/a.rs", "//! X.\n"), ["file-name"]);
        assert_eq!(rules("src/utility_room.rs", "//! X.\n"), Vec::<&str>::new());
    }

    #[test]
    fn lists_hold_only_modules_and_re_exports() {
        let good = "//! X.\n#![forbid(unsafe_code)]\nmod a;\npub use a::B;\n";
        assert_eq!(rules("src/lib.rs", good), Vec::<&str>::new());
        assert_eq!(
            rules("tests/sample/mod.rs", "//! X.\nfn f() {}\n"),
            Vec::<&str>::new()
        );
        for bad in [
            "fn f() {}",
            "mod a { }",
            "const X: u8 = 1;",
            "macro_rules! m { () => {} }",
        ] {
            assert_eq!(
                rules("src/a/mod.rs", &format!("//! X.\n{bad}\n")),
                ["only-lists"],
                "{bad}"
            );
        }
    }
}
