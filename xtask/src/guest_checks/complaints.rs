//! What a check finds wrong, collected so that one run shows all of it.

use std::fmt::Debug;

/// The complaints of one check.
#[derive(Debug, Default)]
pub(crate) struct Complaints {
    list: Vec<String>,
}

impl Complaints {
    /// Complains unless both are equal.
    pub(crate) fn expect<T: PartialEq + Debug>(&mut self, what: &str, found: &T, expected: &T) {
        if found != expected {
            self.add(format!("{what}: found {found:?}, expected {expected:?}"));
        }
    }

    /// Complains about every line that is not the one expected in its place.
    pub(crate) fn expect_lines(&mut self, what: &str, found: &str, expected: &str) {
        let (mut found, mut expected) = (found.lines(), expected.lines());
        loop {
            match (found.next(), expected.next()) {
                (None, None) => return,
                (found, expected) => self.expect(what, &found, &expected),
            }
        }
    }

    /// Adds a complaint.
    pub(crate) fn add(&mut self, complaint: String) {
        self.list.push(complaint);
    }

    /// Returns all complaints, in order.
    pub(crate) fn into_list(self) -> Vec<String> {
        self.list
    }
}
