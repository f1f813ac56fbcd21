//! Pages of the documentation that hold what a table of the code holds.
//!
//! A page that differs is named, with the lines that it lacks and those that it should not have.

use std::fs;
use std::path::Path;

/// A page of the documentation.
#[derive(Debug)]
pub struct Page {
    name: &'static str,
    text: String,
}

impl Page {
    /// Reads a page by its path in the repository, such as `docs/journal.md`.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn read(name: &'static str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../..")
            .join(name);
        let text = fs::read_to_string(&path);
        let text = text.unwrap_or_else(|cause| panic!("{}: {cause}", path.display()));
        Page { name, text }
    }

    /// The whole page.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Checks that the table whose first line begins with `head` has exactly these rows.
    ///
    /// # Panics
    /// When it has not, or when there is no such table.
    pub fn check_rows(&self, head: &str, expected: &[String]) {
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        self.check(&self.rows(head), &expected);
    }

    /// Checks that the table whose first line begins with `head` has a row for each of these names
    /// and no others, in any order. A row's name is what its first back quotes hold.
    ///
    /// # Panics
    /// When it has not, or when there is no such table.
    pub fn check_names<'n>(&self, head: &str, expected: impl IntoIterator<Item = &'n str>) {
        let rows = self.rows(head).into_iter();
        let mut found: Vec<&str> = rows
            .map(|row| row.split('`').nth(1).unwrap_or(row))
            .collect();
        let mut expected: Vec<&str> = expected.into_iter().collect();
        found.sort_unstable();
        expected.sort_unstable();
        self.check(&found, &expected);
    }

    /// Checks that the page has this text of several lines.
    ///
    /// # Panics
    /// When it has not.
    pub fn check_text(&self, expected: &str) {
        if !self.text.contains(expected) {
            let expected: Vec<&str> = expected.lines().collect();
            let found = self.text.lines().filter(|line| expected.contains(line));
            self.check(&found.collect::<Vec<_>>(), &expected);
            panic!("{}: other lines are in between", self.name);
        }
    }

    fn rows(&self, head: &str) -> Vec<&str> {
        let mut lines = self.text.lines();
        let head = lines.find(|line| line.starts_with(head));
        assert!(head.is_some(), "{}: no such table", self.name);
        // The line of dashes.
        let rows = lines.skip(1);
        rows.take_while(|line| line.starts_with('|')).collect()
    }

    fn check(&self, found: &[&str], expected: &[&str]) {
        let difference = difference(found, expected);
        assert!(difference.is_empty(), "{}{difference}", self.name);
    }
}

/// Returns what is missing and what is superfluous; empty when both are the same.
fn difference(found: &[&str], expected: &[&str]) -> String {
    let without = |lines: &[&str], others: &[&str]| {
        let alone = lines.iter().filter(|line| !others.contains(line));
        alone.map(|line| format!("\n  {line}")).collect::<String>()
    };
    let (lacks, has) = (without(expected, found), without(found, expected));
    match (found == expected, lacks.is_empty(), has.is_empty()) {
        (true, ..) => String::new(),
        (false, true, true) => " repeats lines or has them in another order".to_owned(),
        (false, false, true) => format!(" lacks:{lacks}"),
        (false, true, false) => format!(" has, and should not:{has}"),
        (false, false, false) => format!(" lacks:{lacks}\nand has, and should not:{has}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Page, difference};

    #[test]
    fn only_what_differs_is_shown() {
        let check = |found: &[&str], expected: &str| {
            assert_eq!(difference(found, &["a", "b", "c"]), expected);
        };
        check(&["a", "b", "c"], "");
        check(&["a", "c"], " lacks:\n  b");
        check(&["a", "b", "x", "c"], " has, and should not:\n  x");
        check(
            &["a", "c", "b"],
            " repeats lines or has them in another order",
        );
        check(
            &["a", "b", "b", "c"],
            " repeats lines or has them in another order",
        );
        check(
            &["a", "x", "c"],
            " lacks:\n  b\nand has, and should not:\n  x",
        );
    }

    #[test]
    fn a_table_is_read_to_its_end() {
        let text = "x\n| a | b |\n| --- | --- |\n| `one` | 1 |\n| two | `2` |\n\n| `three` |\n";
        let page = Page {
            name: "page",
            text: text.to_owned(),
        };
        page.check_names("| a |", ["one", "2"]);
        page.check_rows(
            "| a |",
            &["| `one` | 1 |".to_owned(), "| two | `2` |".to_owned()],
        );
        page.check_text("| `one` | 1 |\n| two | `2` |\n");
    }

    #[test]
    #[should_panic(expected = "page lacks:\n  | `two` |")]
    fn a_page_without_a_line_is_named_with_it() {
        let text = "| `one` |\n\n| `three` |\n".to_owned();
        Page { name: "page", text }.check_text("| `one` |\n| `two` |\n");
    }
}
