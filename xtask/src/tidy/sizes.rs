//! The size rule: what does not fit on a few screens is two things.

use std::path::Path;

use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Attribute, Block, Item, Signature};

use super::finding::Finding;
use super::project::SourceFile;

/// Maximum number of lines of a file without its tests.
const FILE_LINES: usize = 400;
/// Maximum number of lines of a function, from its signature to its closing brace.
const FUNCTION_LINES: usize = 70;
/// Maximum number of characters of a line.
const LINE_CHARACTERS: usize = 100;

/// A size above its limit. Exceptions are granted by file, rule and item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Excess {
    /// Where it is; its message says what to do.
    pub finding: Finding,
    /// The name of the function; `None` for a whole file.
    pub item: Option<String>,
    /// How large it is.
    pub size: usize,
}

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

/// Measures the file and its functions; returns those that are too large.
pub(super) fn measure(file: &SourceFile, parsed: &syn::File) -> Vec<Excess> {
    let mut functions = Functions {
        path: &file.path,
        found: Vec::new(),
    };
    functions.visit_file(parsed);
    let mut found = functions.found;
    found.extend(measure_file(file, parsed));
    found
}

fn measure_file(file: &SourceFile, parsed: &syn::File) -> Option<Excess> {
    if file.is_test() {
        return None;
    }
    let tests = parsed.items.iter().filter(|item| is_test_module(item));
    let test_lines: usize = tests.map(|item| line_count(item.span())).sum();
    let size = file.text.lines().count() - test_lines;
    let message = format!("{size} lines without tests; split it below {FILE_LINES}");
    let finding = || Finding::new(&file.path, 1, "file-size", message);
    (size > FILE_LINES).then(|| Excess {
        finding: finding(),
        item: None,
        size,
    })
}

fn is_test_module(item: &Item) -> bool {
    let is_cfg_test = |attribute: &Attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|word| word == "test")
    };
    matches!(item, Item::Mod(module) if module.attrs.iter().any(is_cfg_test))
}

fn line_count(span: proc_macro2::Span) -> usize {
    span.end().line - span.start().line + 1
}

struct Functions<'a> {
    path: &'a Path,
    found: Vec<Excess>,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &Signature, body: &Block) {
        let first = signature.span().start().line;
        let size = body.span().end().line - first + 1;
        if size > FUNCTION_LINES {
            let name = signature.ident.to_string();
            let message = format!("{name} has {size} lines; split it below {FUNCTION_LINES}");
            let finding = Finding::new(self.path, first, "function-size", message);
            self.found.push(Excess {
                finding,
                item: Some(name),
                size,
            });
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.measure(&function.sig, &function.block);
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.measure(&function.sig, &function.block);
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.measure(&function.sig, body);
        }
        syn::visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(path: &str, text: &str) -> Vec<(Option<String>, usize)> {
        let file = SourceFile {
            path: path.into(),
            text: text.into(),
        };
        let parsed = syn::parse_file(text).unwrap();
        measure(&file, &parsed)
            .into_iter()
            .map(|excess| (excess.item, excess.size))
            .collect()
    }

    fn function(lines: usize) -> String {
        format!("fn f() {{\n{}}}\n", "    ();\n".repeat(lines - 2))
    }

    #[test]
    fn functions_have_at_most_70_lines() {
        assert_eq!(sizes("a.rs", &function(70)), []);
        assert_eq!(sizes("a.rs", &function(71)), [(Some("f".to_string()), 71)]);
        let method = format!("impl X {{\n{}}}\n", function(80));
        assert_eq!(sizes("a.rs", &method), [(Some("f".to_string()), 80)]);
    }

    #[test]
    fn documentation_of_a_function_does_not_count() {
        let text = format!("{}{}", "/// Doc.\n".repeat(20), function(70));
        assert_eq!(sizes("a.rs", &text), []);
    }

    #[test]
    fn files_have_at_most_400_lines_without_tests() {
        let body = "const _: () = ();\n".repeat(400);
        assert_eq!(sizes("a.rs", &body), []);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{body}}}\n");
        assert_eq!(sizes("a.rs", &format!("{body}{tests}")), []);
        assert_eq!(
            sizes("a.rs", &format!("//! X.\n{body}{tests}")),
            [(None, 401)]
        );
        assert_eq!(sizes("crates/x/tests/a.rs", &format!("{body}{body}")), []);
        assert_eq!(
            sizes("crates/x/src/a_tests.rs", &format!("{body}{body}")),
            []
        );
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
