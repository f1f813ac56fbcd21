//! A set of page numbers, dense in places and empty elsewhere: the pages that were counted.

use std::collections::HashMap;

/// Pages of one chunk: 128 MiB of 4 KiB pages, in 4 KiB of bits.
pub(crate) const CHUNK_PAGES: u64 = 32768;

/// Which pages of one chunk are in the set.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    words: Box<[u64; (CHUNK_PAGES / 64) as usize]>,
    count: u64,
}

impl Chunk {
    fn new() -> Self {
        Self {
            words: Box::new([0; (CHUNK_PAGES / 64) as usize]),
            count: 0,
        }
    }

    /// Adds the page at `index` in the chunk; returns false if it was already there.
    pub(crate) fn insert(&mut self, index: usize) -> bool {
        let (word, bit) = (&mut self.words[index / 64], 1 << (index % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        self.count += u64::from(is_new);
        is_new
    }

    /// Removes the page at `index` in the chunk.
    fn remove(&mut self, index: usize) {
        let (word, bit) = (&mut self.words[index / 64], 1 << (index % 64));
        self.count -= u64::from(*word & bit != 0);
        *word &= !bit;
    }

    /// Whether all of `count` pages from `index` on are in the set.
    fn has_all(&self, index: usize, count: usize) -> bool {
        let mut pages = index..index + count;
        self.count == CHUNK_PAGES || pages.all(|page| self.words[page / 64] >> (page % 64) & 1 == 1)
    }
}

/// A set of page numbers.
#[derive(Clone, Debug, Default)]
pub struct PageSet {
    chunks: Vec<Chunk>,
    /// Index of each chunk by its number.
    places: HashMap<u64, usize>,
    /// The number of the last chunk that was looked up, and its index: most pages follow others.
    last: Option<(u64, usize)>,
}

impl PageSet {
    /// The chunk with this number: the pages from `number` times [`CHUNK_PAGES`] on.
    pub(crate) fn chunk(&mut self, number: u64) -> &mut Chunk {
        let index = match self.last {
            Some((last, index)) if last == number => index,
            _ => *self.places.entry(number).or_insert_with(|| {
                self.chunks.push(Chunk::new());
                self.chunks.len() - 1
            }),
        };
        self.last = Some((number, index));
        &mut self.chunks[index]
    }

    /// Adds a page; returns false if it was already there.
    pub fn insert(&mut self, page: u64) -> bool {
        self.chunk(page / CHUNK_PAGES)
            .insert((page % CHUNK_PAGES) as usize)
    }

    /// Removes a page, if it is there.
    pub fn remove(&mut self, page: u64) {
        if let Some(at) = self.places.get(&(page / CHUNK_PAGES)) {
            self.chunks[*at].remove((page % CHUNK_PAGES) as usize);
        }
    }

    /// Whether a page is in the set.
    pub fn has(&self, page: u64) -> bool {
        self.has_all(page, 1)
    }

    /// Whether all of `count` pages from `first` on, which lie in one chunk, are in the set.
    pub(crate) fn has_all(&self, first: u64, count: u64) -> bool {
        let chunk = self.places.get(&(first / CHUNK_PAGES));
        chunk.is_some_and(|at| {
            self.chunks[*at].has_all((first % CHUNK_PAGES) as usize, count as usize)
        })
    }

    /// How many pages are in the set.
    #[cfg(test)]
    fn len(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_full_chunk_knows_that_it_is_full() {
        let mut set = PageSet::default();
        for page in 0..CHUNK_PAGES {
            assert!(set.insert(CHUNK_PAGES + page));
        }
        assert!(set.has_all(CHUNK_PAGES, CHUNK_PAGES));
        assert!(!set.has_all(0, 1));
    }

    proptest! {
        #[test]
        fn it_is_a_set(
            pages in prop::collection::vec(0..100_000_u64, 0..200),
            gone in prop::collection::vec(0..100_000_u64, 0..50),
        ) {
            let (mut set, mut expected) = (PageSet::default(), BTreeSet::new());
            for page in &pages {
                prop_assert_eq!(set.insert(*page), expected.insert(*page));
            }
            for page in pages.iter().step_by(3).chain(&gone) {
                set.remove(*page);
                expected.remove(page);
            }
            prop_assert_eq!(set.len(), expected.len() as u64);
            for page in pages.iter().chain(&gone) {
                prop_assert_eq!(set.has(*page), expected.contains(page));
            }
        }
    }
}
