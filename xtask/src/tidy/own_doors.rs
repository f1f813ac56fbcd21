//! The rule about doors: only the crates below open, list, run or connect to what may belong to
//! others, so that each such call has its limits in one place.

use syn::visit::Visit;
use syn::{ExprPath, ImplItemFn, Item, Path as RustPath};

use super::file_imports::{attributes, is_of_tests};
use super::finding::Finding;
use super::project::SourceFile;

const RULE: &str = "own-doors";
/// The folders of the crates that own the calls; measured kernels and tests call what they like.
const OWNERS: &[&str] = &[
    "crates/base/linux/",
    "crates/base/testing/",
    "crates/machine/observed/",
    "xtask/",
];
/// The calls, by the end of their paths, and what to call in their place.
const CALLS: &[(&[&str], &str)] = &[
    (
        &["File", "open"],
        "linux::plain_file, or observed::open_named",
    ),
    (
        &["fs", "read"],
        "linux::plain_file, or observed::read_named",
    ),
    (
        &["fs", "read_to_string"],
        "linux::plain_file, or observed::read_named",
    ),
    (&["fs", "read_dir"], "observed::entries"),
    (&["UnixStream", "connect"], "observed::Address"),
    (&["TcpStream", "connect"], "observed::Address"),
    (&["TcpStream", "connect_timeout"], "observed::Address"),
    (
        &["Command", "new"],
        "observed::Program, or linux::own_program",
    ),
];

/// Checks one file of the product.
pub(super) fn check(file: &SourceFile, parsed: &syn::File) -> Vec<Finding> {
    let is_owner = OWNERS.iter().any(|owner| file.path.starts_with(owner));
    if is_owner || file.is_test() {
        return Vec::new();
    }
    let mut calls = Calls {
        file,
        findings: Vec::new(),
    };
    calls.visit_file(parsed);
    calls.findings
}

struct Calls<'a> {
    file: &'a SourceFile,
    findings: Vec<Finding>,
}

impl<'ast> Visit<'ast> for Calls<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_of_tests(attributes(item)) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !is_of_tests(&function.attrs) {
            syn::visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_expr_path(&mut self, found: &'ast ExprPath) {
        let called = CALLS.iter().find(|(call, _)| ends_with(&found.path, call));
        if let Some((call, instead)) = called {
            let line = found
                .path
                .segments
                .first()
                .map_or(1, |it| it.ident.span().start().line);
            let message = format!(
                "{} has no limit and may meet what others made: use {instead}",
                call.join("::")
            );
            self.findings
                .push(Finding::new(&self.file.path, line, RULE, message));
        }
    }
}

/// Whether these are the last names of a path. `clap::Command` is another type.
fn ends_with(path: &RustPath, call: &[&str]) -> bool {
    let names: Vec<String> = path
        .segments
        .iter()
        .map(|it| it.ident.to_string())
        .collect();
    let is_of_clap = names.first().is_some_and(|first| first == "clap");
    !is_of_clap && names.len() >= call.len() && names[names.len() - call.len()..] == *call
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let file = SourceFile {
            path: path.into(),
            text: text.to_owned(),
        };
        let findings = check(&file, &syn::parse_file(text).unwrap());
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn calls_outside_their_crates_are_found() {
        const PATH: &str = "crates/lab/store/src/a.rs";
        for call in [
            "std::fs::File::open(path)",
            "paths.map(File::open)",
            "fs::read_to_string(path)",
            "Command::new(\"sh\")",
            "TcpStream::connect_timeout(&address, within)",
        ] {
            let text = format!("fn a() {{\n    {call};\n}}\n");
            assert_eq!(lines(PATH, &text), [2], "{call}");
            assert_eq!(lines("crates/base/linux/src/a.rs", &text), [0; 0]);
            assert_eq!(lines("crates/lab/store/tests/all/a.rs", &text), [0; 0]);
            let test = format!("#[cfg(test)]\nmod tests {{\n{text}}}\n");
            assert_eq!(lines(PATH, &test), [0; 0], "{call}");
        }
        let others =
            "fn a() { clap::Command::new(\"a\"); file.read(&mut bytes); File::create(a); }";
        assert_eq!(lines(PATH, others), [0; 0]);
    }
}
