//! Every kind of change that numalab makes.

use journal::Kinds;

/// The kinds of all crates that change a machine. A change is undone by the crate that made it.
pub(crate) const KINDS: Kinds =
    Kinds(&[placement::CHANGES, relocation::CHANGES, postgresql::CHANGES]);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::KINDS;

    /// A kind that is recorded and not listed here could not be undone.
    #[test]
    fn the_page_on_the_journal_has_every_kind_and_no_other() {
        let page = include_str!("../../../docs/journal.md");
        let table = page.split("| change | undone by |").nth(1).unwrap();
        let rows = table
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with('|'));
        let named = rows.map(|row| row.split('`').nth(1).unwrap());
        let (named, known): (BTreeSet<_>, BTreeSet<_>) = (named.collect(), KINDS.names().collect());
        assert_eq!(named, known);
        assert_eq!(known.len(), KINDS.names().count());
    }
}
