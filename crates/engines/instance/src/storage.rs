//! The data file behind the buffers: reads blocks into buffers and verifies them, and writes blocks
//! from copies of buffers, which are private memory that no other process changes.

use std::ops::Range;

use linux::data_file::{DataFile, PARTS_MAX};
use linux::shared_memory::{Mapping, ObjectKind, SharedMemory};

use crate::Error;
use crate::layout::{BLOCK_BYTES, Block, BlockId};
use crate::sga::{Sga, slice};
use crate::sga_layout::SgaLayout;

/// Maximum number of blocks per read: 256 KiB, which an NVMe device transfers in one or two
/// commands.
pub(crate) const READ_AHEAD_BLOCKS: usize = PARTS_MAX;

/// The data file that holds the blocks that are not in the cache.
pub(crate) struct Storage<'m> {
    mapping: &'m Mapping,
    file: DataFile,
}

impl<'m> Storage<'m> {
    /// Creates the storage of the mapped SGA.
    pub(crate) fn new(mapping: &'m Mapping, file: DataFile) -> Self {
        Storage { mapping, file }
    }

    /// Returns the file.
    pub(crate) fn file(&self) -> &DataFile {
        &self.file
    }

    /// Reads `buffers.len()` consecutive blocks, starting with `first`, into buffers that the
    /// caller owns, and verifies each.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when the file is too short or the device fails; [`Error::Corrupt`]
    /// when a block is not what was written.
    pub(crate) fn read(&self, sga: &Sga<'_>, first: BlockId, buffers: &[u32]) -> Result<(), Error> {
        assert!(
            buffers.len() <= READ_AHEAD_BLOCKS,
            "so many blocks were announced"
        );
        let mut offsets = [0; READ_AHEAD_BLOCKS];
        for (offset, buffer) in offsets.iter_mut().zip(buffers) {
            *offset = self.offset(sga, *buffer);
        }
        let layout = &sga.layout;
        self.read_into(layout, first, self.mapping, &offsets[..buffers.len()])?;
        for (number, buffer) in (0..).zip(buffers) {
            let id = BlockId(first.0 + number);
            verify(layout, id, &sga.blocks[*buffer as usize])?;
        }
        Ok(())
    }

    /// Reads `count` consecutive blocks, starting at position `first` of the file in blocks, into
    /// the first blocks of `area`, and verifies each. The data must be tables.
    ///
    /// # Errors
    /// As for [`Storage::read`].
    pub(crate) fn read_copies(
        &self,
        layout: &SgaLayout,
        first: u64,
        area: &CopyArea,
        count: usize,
    ) -> Result<(), Error> {
        let offsets: [usize; COPY_BLOCKS] = std::array::from_fn(CopyArea::offset);
        let id = layout.block_in_place(first);
        self.read_into(layout, id, area.mapping(), &offsets[..count])?;
        for (place, block) in (first..).zip(&area.blocks()[..count]) {
            verify(layout, layout.block_in_place(place), block)?;
        }
        Ok(())
    }

    fn read_into(
        &self,
        layout: &SgaLayout,
        first: BlockId,
        memory: &Mapping,
        offsets: &[usize],
    ) -> Result<(), Error> {
        let position = layout.file_position(first);
        self.file
            .read(position, memory, offsets, BLOCK_BYTES as usize)
            .map_err(|cause| Error::Unreadable {
                block: first,
                position,
                cause,
            })
    }

    /// Writes a buffer, whose content must not change during the call, to the position of its
    /// block.
    ///
    /// # Errors
    /// [`Error::Unwritable`] when the file system is full or the device fails.
    pub(crate) fn write(&self, sga: &Sga<'_>, buffer: u32) -> Result<(), Error> {
        let block = &sga.blocks[buffer as usize];
        block.seal();
        let offset = self.offset(sga, buffer);
        self.write_from(&sga.layout, block.id(), self.mapping, &[offset])
    }

    /// Writes the first `count` blocks of `area` to their positions, adjacent ones in one call.
    ///
    /// # Errors
    /// As for [`Storage::write`].
    pub(crate) fn write_copies(
        &self,
        layout: &SgaLayout,
        area: &CopyArea,
        count: usize,
    ) -> Result<(), Error> {
        let copies = &area.blocks()[..count];
        copies.iter().for_each(Block::seal);
        let mut order: [usize; COPY_BLOCKS] = std::array::from_fn(|place| place);
        let order = &mut order[..count];
        let position = |place: usize| layout.file_position(copies[place].id());
        order.sort_unstable_by_key(|place| position(*place));
        for run in neighbours(order, |one, next| {
            position(one) + BLOCK_BYTES == position(next)
        }) {
            let mut offsets = [0; COPY_BLOCKS];
            for (offset, place) in offsets.iter_mut().zip(&order[run.clone()]) {
                *offset = CopyArea::offset(*place);
            }
            let first = copies[order[run.start]].id();
            self.write_from(layout, first, area.mapping(), &offsets[..run.len()])?;
        }
        Ok(())
    }

    fn write_from(
        &self,
        layout: &SgaLayout,
        first: BlockId,
        memory: &Mapping,
        offsets: &[usize],
    ) -> Result<(), Error> {
        let position = layout.file_position(first);
        self.file
            .write(position, memory, offsets, BLOCK_BYTES as usize)
            .map_err(|cause| Error::Unwritable {
                block: first,
                position,
                cause,
            })
    }

    fn offset(&self, sga: &Sga<'_>, buffer: u32) -> usize {
        (sga.layout.blocks_offset + u64::from(buffer) * BLOCK_BYTES) as usize
    }
}

/// Checks that a block just read is the one expected there, as it was written.
fn verify(layout: &SgaLayout, id: BlockId, block: &Block) -> Result<(), Error> {
    match block.id() == id && block.is_sealed() {
        true => Ok(()),
        false => Err(Error::Corrupt {
            block: id,
            position: layout.file_position(id),
        }),
    }
}

/// Returns the maximal ranges of `items` in which each item is followed by its neighbour.
fn neighbours(
    items: &[usize],
    is_next: impl Fn(usize, usize) -> bool,
) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let first = start;
        (first < items.len()).then(|| {
            start += 1;
            while start < items.len() && is_next(items[start - 1], items[start]) {
                start += 1;
            }
            first..start
        })
    })
}

/// Blocks in a copy area: as many as one call transfers.
pub(crate) const COPY_BLOCKS: usize = PARTS_MAX;

/// Room for [`COPY_BLOCKS`] blocks.
pub(crate) struct CopyArea(Mapping);

impl CopyArea {
    /// Creates an area of zeroes with all pages populated.
    ///
    /// # Errors
    /// When the memory cannot be allocated.
    pub(crate) fn new() -> Result<Self, Error> {
        let bytes = COPY_BLOCKS * BLOCK_BYTES as usize;
        let page_bytes = linux::process::page_bytes();
        let mapping = SharedMemory::create(ObjectKind::Memfd, bytes, page_bytes)?.map()?;
        mapping.populate_for_writing()?;
        Ok(CopyArea(mapping))
    }

    /// Returns the memory, for transfers.
    pub(crate) fn mapping(&self) -> &Mapping {
        &self.0
    }

    /// Returns the blocks.
    pub(crate) fn blocks(&self) -> &[Block] {
        // SAFETY: the mapping lives as long as `self` and has room for this many blocks, which are
        // atomics only: any bytes are valid values.
        unsafe { slice(self.0.address().cast_const(), COPY_BLOCKS as u32) }
    }

    /// Returns the offset of block `number` of the area in the mapping.
    pub(crate) fn offset(number: usize) -> usize {
        number * BLOCK_BYTES as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::neighbours;

    proptest! {
        #[test]
        fn stretches_follow_each_other_and_are_as_long_as_can_be(
            items in prop::collection::btree_set(0usize..60, 0..32)
        ) {
            let items: Vec<usize> = items.into_iter().collect();
            let is_next = |one, next| one + 1 == next;
            let mut end = 0;
            for run in neighbours(&items, is_next) {
                prop_assert_eq!(run.start, end);
                prop_assert!(items[run.clone()].windows(2).all(|pair| is_next(pair[0], pair[1])));
                prop_assert!(!run.is_empty());
                let last = items[run.end - 1];
                prop_assert!(items.get(run.end).is_none_or(|next| !is_next(last, *next)));
                end = run.end;
            }
            prop_assert_eq!(end, items.len());
        }
    }
}
