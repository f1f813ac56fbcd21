//! The huge pages of objects that a pass has met: several processes show the same page.

use std::collections::BTreeMap;

use linux::proc_maps::ObjectId;
use residency::PageSet;

use super::memory::{Part, Source, Stretch};

/// The pages, by their numbers in each object.
#[derive(Debug, Default)]
pub(super) struct HugePagesMet(BTreeMap<ObjectId, PageSet>);

impl HugePagesMet {
    /// Adds a page; returns false if it was met before.
    pub(super) fn insert(&mut self, object: ObjectId, page: u64) -> bool {
        self.0.entry(object).or_default().insert(page)
    }

    /// Takes a page for one that was not met: the process that showed it has it no more, and
    /// another may.
    pub(super) fn forget(&mut self, object: ObjectId, page: u64) {
        if let Some(met) = self.0.get_mut(&object) {
            met.remove(page);
        }
    }

    /// Whether a page was met.
    pub(super) fn has(&self, object: ObjectId, page: u64) -> bool {
        self.0.get(&object).is_some_and(|met| met.has(page))
    }

    /// Whether all pages of a stretch were met.
    pub(super) fn has_all(&self, object: ObjectId, stretch: &Stretch) -> bool {
        pages(stretch).all(|page| self.has(object, page))
    }

    /// Whether a page of a stretch of this part was met, if it is an object of huge pages: another
    /// process may show it, too.
    pub(super) fn has_some(&self, part: &Part, stretch: &Stretch) -> bool {
        match part.source {
            Source::HugeObject(id, _) => pages(stretch).any(|page| self.has(id, page)),
            _ => false,
        }
    }
}

fn pages(stretch: &Stretch) -> impl Iterator<Item = u64> {
    stretch.first..stretch.first + stretch.pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_new_once_and_again_when_it_was_forgotten() {
        let mut met = HugePagesMet::default();
        let (one, other) = (
            ObjectId::default(),
            ObjectId {
                inode: 7,
                ..ObjectId::default()
            },
        );
        let stretch = |first, pages| Stretch {
            pid: 1,
            first,
            pages,
            address: 0,
        };
        assert!(met.insert(one, 5) && met.insert(one, 6) && !met.insert(one, 5));
        assert!(met.insert(other, 5), "of another object");
        assert!(met.has_all(one, &stretch(5, 2)) && !met.has_all(one, &stretch(5, 3)));
        met.forget(one, 5);
        assert!(!met.has(one, 5) && met.has(other, 5) && met.has(one, 6));
        assert!(!met.has_all(one, &stretch(5, 2)));
        assert!(met.insert(one, 5));
        met.forget(other, 9);
    }
}
