//! Every kind of change that numalab makes.

use journal::Kinds;

/// The kinds of all crates that change a machine. A change is undone by the crate that made it.
pub(crate) const KINDS: Kinds = Kinds(&[
    placement::CHANGES,
    relocation::CHANGES,
    instance::CHANGES,
    postgresql::CHANGES,
    server::CHANGES,
]);

#[cfg(test)]
mod tests {
    use super::KINDS;

    /// A kind that is recorded and not listed here could not be undone.
    #[test]
    fn the_page_on_the_journal_has_every_kind_and_no_other() {
        let page = testing::Page::read("docs/journal.md");
        page.check_names("| change | undone by |", KINDS.names());
        page.check_names("| change | given up, leaves |", KINDS.names());
    }
}
