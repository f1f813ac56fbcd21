//! The data file as buffers see it: blocks read into them and verified.

use linux::data_file::{DataFile, PARTS_MAX};
use linux::shared_memory::Mapping;

use crate::Error;
use crate::layout::{BLOCK_BYTES, BlockId};
use crate::sga::Sga;

/// The most blocks of one read: 256 KiB, which an NVMe device transfers in one command or two.
pub const READ_AHEAD_BLOCKS: usize = PARTS_MAX;

/// Where blocks are read from that are not in the cache.
pub struct Storage<'m> {
    mapping: &'m Mapping,
    file: DataFile,
}

impl<'m> Storage<'m> {
    /// The data file of the SGA that is mapped.
    pub fn new(mapping: &'m Mapping, file: DataFile) -> Self {
        Storage { mapping, file }
    }

    /// The file.
    pub fn file(&self) -> &DataFile {
        &self.file
    }

    /// Reads `buffers.len()` consecutive blocks from `first` on into buffers that the caller owns,
    /// and verifies each.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when the file ends before or the device fails; [`Error::Corrupt`]
    /// when a block is not what was written.
    pub fn read(&self, sga: &Sga<'_>, first: BlockId, buffers: &[u32]) -> Result<(), Error> {
        assert!(
            buffers.len() <= READ_AHEAD_BLOCKS,
            "so many blocks were announced"
        );
        let mut offsets = [0; READ_AHEAD_BLOCKS];
        for (offset, buffer) in offsets.iter_mut().zip(buffers) {
            *offset = self.offset(sga, *buffer);
        }
        let position = sga.layout.file_position(first);
        let offsets = &offsets[..buffers.len()];
        self.file
            .read(position, self.mapping, offsets, BLOCK_BYTES as usize)
            .map_err(|cause| Error::Unreadable {
                block: first,
                position,
                cause,
            })?;
        for (number, buffer) in (0..).zip(buffers) {
            let id = BlockId(first.0 + number);
            let block = &sga.blocks[*buffer as usize];
            if block.id() != id || !block.is_sealed() {
                return Err(Error::Corrupt {
                    block: id,
                    position: sga.layout.file_position(id),
                });
            }
        }
        Ok(())
    }

    /// Writes a buffer whose content nobody changes meanwhile to the place of its block.
    ///
    /// # Errors
    /// [`Error::Unwritable`] when the file system is full or the device fails.
    pub fn write(&self, sga: &Sga<'_>, buffer: u32) -> Result<(), Error> {
        let block = &sga.blocks[buffer as usize];
        block.seal();
        let position = sga.layout.file_position(block.id());
        let offset = self.offset(sga, buffer);
        self.file
            .write(position, self.mapping, offset, BLOCK_BYTES as usize)
            .map_err(|cause| Error::Unwritable {
                block: block.id(),
                position,
                cause,
            })
    }

    fn offset(&self, sga: &Sga<'_>, buffer: u32) -> usize {
        (sga.layout.blocks_offset + u64::from(buffer) * BLOCK_BYTES) as usize
    }
}
