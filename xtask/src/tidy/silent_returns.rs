//! The rule about tests that return early: each passes its own name to `testing::not_run`, or to a
//! function that checks a need and calls it, so that the test does not count as passed.

use syn::visit::Visit;
use syn::{Block, Expr, ExprClosure, ExprReturn, Item, ItemFn, LitStr};

use super::finding::Finding;
use super::project::SourceFile;

const RULE: &str = "silent-return";

/// Checks the tests of one file.
pub(super) fn check(file: &SourceFile, parsed: &syn::File) -> Vec<Finding> {
    let mut tests = Tests {
        file,
        findings: Vec::new(),
    };
    tests.visit_file(parsed);
    tests.findings
}

struct Tests<'a> {
    file: &'a SourceFile,
    findings: Vec<Finding>,
}

impl<'ast> Visit<'ast> for Tests<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        if function.attrs.iter().any(|it| it.path().is_ident("test")) {
            let name = function.sig.ident.to_string();
            let mut body = Body::of(&function.block);
            if !body.names.contains(&name) {
                let message = format!(
                    "{name} returns and counts as passed; call testing::not_run with its name"
                );
                let finding = |line| Finding::new(&self.file.path, line, RULE, message.clone());
                self.findings.extend(body.returns.drain(..).map(finding));
            }
        }
        syn::visit::visit_item_fn(self, function);
    }
}

/// Lines in which a test returns early, and its string literals.
#[derive(Default)]
struct Body {
    returns: Vec<usize>,
    names: Vec<String>,
}

impl Body {
    fn of(block: &Block) -> Self {
        let mut body = Body::default();
        body.visit_block(block);
        body
    }
}

impl<'ast> Visit<'ast> for Body {
    fn visit_expr_return(&mut self, found: &'ast ExprReturn) {
        // A function called in place of the rest of the test does the test's work.
        let callee = match found.expr.as_deref() {
            Some(Expr::Call(call)) => Some(&*call.func),
            Some(Expr::MethodCall(_)) => return,
            _ => None,
        };
        let is_not_run = |callee: &Expr| match callee {
            Expr::Path(path) => path.path.segments.iter().any(|it| it.ident == "not_run"),
            _ => false,
        };
        if callee.is_none_or(is_not_run) {
            self.returns.push(found.return_token.span.start().line);
        }
        syn::visit::visit_expr_return(self, found);
    }

    fn visit_lit_str(&mut self, text: &'ast LitStr) {
        self.names.push(text.value());
    }

    // A closure returns only from itself.
    fn visit_expr_closure(&mut self, _: &'ast ExprClosure) {}

    fn visit_item(&mut self, item: &'ast Item) {
        if !matches!(item, Item::Fn(_)) {
            syn::visit::visit_item(self, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let file = SourceFile {
            path: "crates/base/linux/src/a.rs".into(),
            text: text.to_owned(),
        };
        let findings = check(&file, &syn::parse_file(text).unwrap());
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_test_that_returns_without_its_name_is_found_with_its_lines() {
        let of_body = |body: &str| lines(&format!("#[test]\nfn a() {{\n{body}\n}}\n"));
        for silent in [
            "if !is_root() { return; }",
            "let Some(bin) = installed() else { return };",
            "if !is_root(\"b\") { return; }",
            "if !is_root() { return testing::not_run(\"b\", Need::Root, \"\"); }",
            "match is_root() { true => {} false => return }",
        ] {
            assert_eq!(of_body(silent), [3], "{silent}");
        }
        for loud in [
            "if !is_root(\"a\") { return; }",
            "const TEST: &str = \"a\"; if !is_root(TEST) { return; }",
            "if !is_root() { return not_run(\"a\", Need::Root, \"\"); }",
            "if is_child() { return do_task(); }",
            "let each = || { return; };",
        ] {
            assert_eq!(of_body(loud), [0; 0], "{loud}");
        }
    }

    #[test]
    fn only_tests_are_looked_at() {
        assert_eq!(lines("fn a() { return; }\n"), [0; 0]);
        let inside = "mod tests {\n#[test]\nfn a() { return; }\n}\n";
        assert_eq!(lines(inside), [3]);
    }
}
