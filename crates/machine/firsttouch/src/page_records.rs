//! The first touch of every page of the segments: 8 bytes for each page of a range of which any was
//! touched, up to a bound.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Pages of a chunk: 16 MiB of pages of 4 KiB, in 32 KiB.
pub(crate) const CHUNK_PAGES: u64 = 4096;

/// How many chunks there may be: 512 MiB of records, for 256 GiB of pages of 4 KiB.
const CHUNKS_MAX: usize = 16384;

/// A first touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageRecord {
    /// The toucher's number.
    pub toucher: u32,
    /// When, in ms from the start.
    pub time_ms: u32,
}

/// No touch was seen.
const NOBODY: PageRecord = PageRecord {
    toucher: u32::MAX,
    time_ms: 0,
};

/// The toucher of pages that were in memory before the look.
pub(crate) const BEFORE: u32 = u32::MAX - 1;

/// What a touch was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// The first of this page.
    First,
    /// Another toucher was first.
    Later,
    /// This toucher was first.
    Again,
    /// There is no room for the page's record.
    NoRoom,
}

type Chunk = Box<[PageRecord]>;

/// The records of all segments.
#[derive(Debug)]
pub(crate) struct PageRecords {
    chunks: HashMap<(usize, u64), Chunk>,
    chunks_max: usize,
}

impl Default for PageRecords {
    fn default() -> Self {
        PageRecords {
            chunks: HashMap::new(),
            chunks_max: CHUNKS_MAX,
        }
    }
}

impl PageRecords {
    /// Notes that a page was there before the look; returns false when there is no room for that.
    pub(crate) fn was_before(&mut self, segment: usize, page: u64) -> bool {
        let before = PageRecord {
            toucher: BEFORE,
            time_ms: 0,
        };
        self.touch(segment, page, before) != Touch::NoRoom
    }

    /// Notes a touch of a page of a segment.
    pub(crate) fn touch(&mut self, segment: usize, page: u64, record: PageRecord) -> Touch {
        let is_full = self.chunks.len() >= self.chunks_max;
        let chunk = match self.chunks.entry((segment, page / CHUNK_PAGES)) {
            Entry::Occupied(chunk) => chunk.into_mut(),
            Entry::Vacant(_) if is_full => return Touch::NoRoom,
            Entry::Vacant(place) => {
                place.insert(vec![NOBODY; CHUNK_PAGES as usize].into_boxed_slice())
            }
        };
        let known = &mut chunk[(page % CHUNK_PAGES) as usize];
        if *known == NOBODY {
            *known = record;
            Touch::First
        } else if known.toucher == record.toucher {
            Touch::Again
        } else {
            Touch::Later
        }
    }

    /// The first touch of a page, if it was seen, or [`BEFORE`].
    pub(crate) fn get(&self, segment: usize, page: u64) -> Option<PageRecord> {
        let chunk = self.chunks.get(&(segment, page / CHUNK_PAGES))?;
        let known = chunk[(page % CHUNK_PAGES) as usize];
        (known != NOBODY).then_some(known)
    }

    /// All first touches of a segment that were seen, in no order.
    pub(crate) fn of_segment(&self, segment: usize) -> impl Iterator<Item = (u64, PageRecord)> {
        let chunks = self.chunks.iter();
        let chunks = chunks.filter(move |((of, _), _)| *of == segment);
        chunks.flat_map(|((_, number), chunk)| {
            let first = number * CHUNK_PAGES;
            let known = chunk.iter().enumerate();
            let known = known.filter(|(_, record)| record.toucher < BEFORE);
            known.map(move |(index, record)| (first + index as u64, *record))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn record(toucher: u32) -> PageRecord {
        let time_ms = 5;
        PageRecord { toucher, time_ms }
    }

    #[test]
    fn what_has_no_room_is_said_and_what_has_stays() {
        let mut records = PageRecords {
            chunks_max: 1,
            ..PageRecords::default()
        };
        assert_eq!(records.touch(0, 7, record(1)), Touch::First);
        assert_eq!(records.touch(0, CHUNK_PAGES, record(1)), Touch::NoRoom);
        assert_eq!(records.touch(0, 8, record(1)), Touch::First);
        assert_eq!(records.get(0, CHUNK_PAGES), None);
    }

    #[test]
    fn a_page_that_was_there_before_has_no_first_touch() {
        let mut records = PageRecords::default();
        assert!(records.was_before(0, 7));
        assert_eq!(records.touch(0, 7, record(1)), Touch::Later);
        assert_eq!(records.of_segment(0).count(), 0);
        assert_eq!(records.get(0, 7).map(|it| it.toucher), Some(BEFORE));
    }

    proptest! {
        #[test]
        fn the_first_of_each_page_counts(
            touches in prop::collection::vec((0_usize..3, 0_u64..20_000, 0_u32..4), 0..300),
        ) {
            let (mut records, mut expected) = (PageRecords::default(), BTreeMap::new());
            for (segment, page, toucher) in touches {
                let touch = records.touch(segment, page, record(toucher));
                let first = *expected.entry((segment, page)).or_insert((toucher, touch));
                let is_first = first.1 == touch && touch == Touch::First;
                let is_again = touch == Touch::Again && first.0 == toucher;
                let is_later = touch == Touch::Later && first.0 != toucher;
                prop_assert!(is_first || is_again || is_later);
            }
            for segment in 0..3 {
                let mut found: Vec<_> = records.of_segment(segment).collect();
                found.sort_by_key(|(page, _)| *page);
                let expected = expected.iter().filter(|((of, _), _)| *of == segment);
                let expected: Vec<_> = expected
                    .map(|((_, page), (toucher, _))| (*page, record(*toucher)))
                    .collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
