//! Some pages that are looked at again and again: how many change their node, and how many come
//! back.

use std::collections::BTreeMap;

use model::NodeId;

use crate::error::MoveError;
use crate::memory::{Part, Stretch};
use crate::read_error::ReadError;
use crate::reader::Reader;

/// Pages that are watched, at most: a look at them takes milliseconds, and the error of a share of
/// them is below 1 % (95 %).
const PAGES_MAX: u64 = 1 << 14;
/// Pages in a block of those that are watched, if not all can be.
const BLOCK_PAGES: u64 = 64;

/// The pages, by segment and number, with their history.
#[derive(Debug, Default)]
pub(super) struct Watched {
    blocks: Vec<(usize, Stretch)>,
    pages: BTreeMap<(usize, u64), History>,
}

/// Where a page is, and where it has been before.
#[derive(Debug, Clone, PartialEq, Eq)]
struct History {
    now: NodeId,
    been: Vec<NodeId>,
}

impl History {
    /// Notes where the page is now; returns whether it changed, and whether it came back.
    fn note(&mut self, node: NodeId) -> (bool, bool) {
        if node == self.now {
            return (false, false);
        }
        let has_returned = self.been.contains(&node);
        if !self.been.contains(&self.now) {
            self.been.push(self.now);
        }
        self.now = node;
        (true, has_returned)
    }
}

/// What a look found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// Pages that were looked at.
    pub watched: u64,
    /// Pages that lie on another node than at the look before.
    pub changed: u64,
    /// Those of them that came back to a node on which they have been.
    pub returned: u64,
}

impl Watched {
    /// Chooses pages, evenly over these stretches of the segments.
    pub(super) fn of(stretches: &[(usize, Stretch)]) -> Self {
        let blocks: Vec<(usize, Stretch)> = stretches.iter().flat_map(in_blocks).collect();
        let step = (blocks.len() as u64)
            .div_ceil(PAGES_MAX / BLOCK_PAGES)
            .max(1) as usize;
        let chosen = blocks.into_iter().skip(step / 2).step_by(step);
        Self {
            blocks: chosen.collect(),
            pages: BTreeMap::new(),
        }
    }

    /// Looks at the pages again.
    ///
    /// # Errors
    /// When the kernel refuses to say where pages are.
    pub(super) fn look(
        &mut self,
        reader: &mut Reader<'_>,
        parts: &[&Part],
    ) -> Result<Look, MoveError> {
        let mut look = Look::default();
        for (segment, stretch) in &self.blocks {
            let chunk = match reader.read(parts[*segment], stretch) {
                Ok(chunk) => chunk,
                Err(ReadError::Read(error)) => return Err(error.into()),
                Err(ReadError::SystemCall(error)) => return Err(error.into()),
            };
            for unit in chunk.units {
                look.watched += unit.pages;
                let new = || History {
                    now: unit.node,
                    been: Vec::new(),
                };
                let history = self.pages.entry((*segment, unit.page));
                let (changed, returned) = history.or_insert_with(new).note(unit.node);
                look.changed += u64::from(changed) * unit.pages;
                look.returned += u64::from(returned) * unit.pages;
            }
        }
        Ok(look)
    }
}

fn in_blocks((segment, stretch): &(usize, Stretch)) -> impl Iterator<Item = (usize, Stretch)> {
    let (segment, stretch) = (*segment, *stretch);
    (0..stretch.pages.div_ceil(BLOCK_PAGES)).map(move |block| {
        let begin = block * BLOCK_PAGES;
        let block = Stretch {
            first: stretch.first + begin,
            pages: BLOCK_PAGES.min(stretch.pages - begin),
            ..stretch
        };
        (segment, block)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stretch(first: u64, pages: u64) -> Stretch {
        Stretch {
            pid: 0,
            first,
            pages,
            address: 0,
        }
    }

    #[test]
    fn a_page_that_was_there_before_has_returned() {
        let mut history = History {
            now: NodeId(3),
            been: Vec::new(),
        };
        let notes = [3, 0, 0, 1, 0, 3, 2].map(|node| history.note(NodeId(node)));
        let (stays, moves, returns) = ((false, false), (true, false), (true, true));
        let expected = [stays, moves, stays, moves, returns, returns, moves];
        assert_eq!(notes, expected);
    }

    #[test]
    fn few_pages_are_all_watched_and_many_evenly() {
        let all = Watched::of(&[(0, stretch(5, 130)), (2, stretch(0, 3))]);
        let seen: Vec<_> = all
            .blocks
            .iter()
            .map(|(it, of)| (*it, of.first, of.pages))
            .collect();
        assert_eq!(seen, [(0, 5, 64), (0, 69, 64), (0, 133, 2), (2, 0, 3)]);
        let many = Watched::of(&[(0, stretch(0, 1 << 22))]);
        let firsts: Vec<u64> = many.blocks.iter().map(|(_, of)| of.first).collect();
        assert_eq!(firsts.len() as u64, PAGES_MAX / BLOCK_PAGES);
        assert!(firsts.windows(2).all(|two| two[1] - two[0] == 1 << 14));
    }

    proptest! {
        #[test]
        fn never_more_than_can_be_looked_at_in_time(
            lengths in prop::collection::vec(0..10_000_u64, 0..50)
        ) {
            let stretches = lengths.iter().map(|pages| (0, stretch(0, *pages)));
            let watched = Watched::of(&stretches.collect::<Vec<_>>());
            let pages: u64 = watched.blocks.iter().map(|(_, of)| of.pages).sum();
            prop_assert!(pages <= PAGES_MAX);
        }
    }
}
