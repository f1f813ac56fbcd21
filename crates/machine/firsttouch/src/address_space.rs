//! What is mapped where in one process.

use std::collections::BTreeMap;

/// A part of a shared object that is mapped somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// The index of the segment; `None` for private memory and files.
    pub segment: Option<usize>,
    /// Offset of `start` in the object.
    pub offset: u64,
}

/// The mappings of one process. What was unmapped stays until something else is mapped there, since
/// the kernel reports no end of a mapping.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressSpace(BTreeMap<u64, Area>);

impl AddressSpace {
    /// Maps an area, in the place of whatever was there.
    pub(crate) fn map(&mut self, area: Area) {
        if area.start >= area.end {
            return;
        }
        let before = self.0.range(..area.end).rev();
        let overlapped: Vec<Area> = before
            .map(|(_, other)| *other)
            .take_while(|other| other.end > area.start)
            .collect();
        for other in overlapped {
            self.0.remove(&other.start);
            if other.start < area.start {
                let end = area.start;
                self.0.insert(other.start, Area { end, ..other });
            }
            if other.end > area.end {
                let (start, moved) = (area.end, area.end - other.start);
                let offset = other.offset.saturating_add(moved);
                let rest = Area {
                    start,
                    offset,
                    ..other
                };
                self.0.insert(start, rest);
            }
        }
        // Private memory is what is nowhere, too: it need not be kept.
        if area.segment.is_some() {
            self.0.insert(area.start, area);
        }
    }

    /// The segment at an address, and the offset in it; `None` for private memory and files.
    pub(crate) fn find(&self, address: u64) -> Option<(usize, u64)> {
        let (_, area) = self.0.range(..=address).next_back()?;
        let segment = area.segment.filter(|_| address < area.end)?;
        Some((segment, area.offset.checked_add(address - area.start)?))
    }

    /// Forgets everything, as exec does.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_last_mapping_of_an_address_counts(
            maps in prop::collection::vec(
                (0_u64..60, 1_u64..30, prop::option::of(0_usize..3)),
                0..30,
            ),
        ) {
            let mut space = AddressSpace::default();
            let mut expected = vec![None; 100];
            for (start, length, segment) in maps {
                let (end, offset) = (start + length, start * 1000);
                space.map(Area { start, end, segment, offset });
                for address in start..end {
                    let at = segment.map(|segment| (segment, offset + (address - start)));
                    expected[address as usize] = at;
                }
            }
            for (address, expected) in expected.into_iter().enumerate() {
                prop_assert_eq!(space.find(address as u64), expected);
            }
        }

        #[test]
        fn no_area_panics(areas in prop::collection::vec(any::<(u64, u64, u64)>(), 0..20)) {
            let mut space = AddressSpace::default();
            for (start, end, offset) in areas {
                space.map(Area { start, end, segment: Some(0), offset });
                space.find(start);
                space.find(end);
            }
        }
    }
}
