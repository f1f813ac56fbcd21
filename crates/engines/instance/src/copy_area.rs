//! Private memory for blocks in transfer to or from the data file, which no other process changes.

use linux::data_file::PARTS_MAX;
use linux::shared_memory::{Mapping, ObjectKind, SharedMemory};

use crate::Error;
use crate::layout::{BLOCK_BYTES, Block};
use crate::sga::slice;

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
