//! Private memory for blocks on their way to or from the data file, where nobody changes them.

use linux::data_file::PARTS_MAX;
use linux::shared_memory::{Mapping, ObjectKind, SharedMemory};

use crate::Error;
use crate::layout::{BLOCK_BYTES, Block};
use crate::sga::slice;

/// Blocks of a copy area: as many as one call transfers.
pub(crate) const COPY_BLOCKS: usize = PARTS_MAX;

/// Room for [`COPY_BLOCKS`] blocks.
pub(crate) struct CopyArea(Mapping);

impl CopyArea {
    /// A new area, all zeroes, whose pages exist.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub(crate) fn new() -> Result<Self, Error> {
        let bytes = COPY_BLOCKS * BLOCK_BYTES as usize;
        let page_bytes = linux::process::page_bytes();
        let mapping = SharedMemory::create(ObjectKind::Memfd, bytes, page_bytes)?.map()?;
        mapping.populate_for_writing()?;
        Ok(CopyArea(mapping))
    }

    /// The memory, for transfers.
    pub(crate) fn mapping(&self) -> &Mapping {
        &self.0
    }

    /// Its blocks.
    pub(crate) fn blocks(&self) -> &[Block] {
        // SAFETY: the mapping lives as long as `self` and has room for so many blocks, which are
        // atomics only: any bytes are values.
        unsafe { slice(self.0.address().cast_const(), COPY_BLOCKS as u32) }
    }

    /// Where block `number` of the area lies in the mapping.
    pub(crate) fn offset(number: usize) -> usize {
        number * BLOCK_BYTES as usize
    }
}
