//! The blocks of a server's shared buffers: their position in its shared memory.

use linux::Root;
use linux::proc_maps::{self, Mapping};
use postgres::Client;
use server::{CacheMemory, CacheRange, Error};

use crate::error;

/// `PG_IO_ALIGN_SIZE` (src/include/pg_config_manual.h): since 16 the blocks start at a multiple of
/// this within their allocation, which is larger by as much.
const IO_ALIGN_BYTES: u64 = 4096;

/// The blocks of the shared buffers of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BufferBlocks {
    /// The postmaster.
    pub postmaster: u32,
    /// Its mapping of the shared memory.
    pub mapping: Mapping,
    /// Offset of the first block in the shared memory object.
    pub offset: u64,
    /// Size of a block.
    pub block_bytes: u64,
    /// Blocks.
    pub blocks: u64,
}

/// Position of the shared buffers as reported by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allocation {
    /// Offset of the allocation in the shared memory.
    offset: u64,
    /// Length of the allocation.
    bytes: u64,
    /// Size of a block.
    pub block_bytes: u64,
    /// Blocks.
    pub blocks: u64,
}

impl Allocation {
    /// Queries the server.
    ///
    /// # Errors
    /// When the server does not report it: this needs `pg_read_all_stats` (a superuser before 14).
    pub(crate) fn ask(client: &mut Client) -> Result<Self, Error> {
        let sql = "SELECT off, size, current_setting('block_size')::bigint, \
                          (SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers') \
                   FROM pg_shmem_allocations WHERE name = 'Buffer Blocks'";
        let what = "asking where the shared buffers are";
        let row = client.query_one(sql, &[]).map_err(error::client(what))?;
        let number = |index: usize| row.get::<_, i64>(index).unsigned_abs();
        Ok(Allocation {
            offset: number(0),
            bytes: number(1),
            block_bytes: number(2),
            blocks: number(3),
        })
    }
}

impl BufferBlocks {
    /// Finds the blocks in the memory of the postmaster.
    ///
    /// # Errors
    /// When its maps cannot be read or do not have such a mapping.
    pub(crate) fn find(
        root: &Root,
        allocation: &Allocation,
        postmaster: u32,
    ) -> Result<Self, Error> {
        let Allocation {
            offset,
            bytes,
            block_bytes,
            blocks,
        } = *allocation;
        let mapping = main_mapping(root, postmaster, offset.saturating_add(bytes))?;
        let extra = bytes.saturating_sub(block_bytes.saturating_mul(blocks));
        let address = mapping.start.saturating_add(offset);
        let padding = match extra >= IO_ALIGN_BYTES {
            true => address.next_multiple_of(IO_ALIGN_BYTES) - address,
            false => 0,
        };
        Ok(BufferBlocks {
            postmaster,
            offset: mapping.offset + offset + padding,
            mapping,
            block_bytes,
            blocks,
        })
    }

    /// Returns the memory of the blocks, which `processes` may have mapped.
    pub(crate) fn memory(self, processes: Vec<u32>, toucher: u32) -> CacheMemory {
        CacheMemory {
            owner: self.postmaster,
            toucher,
            processes,
            ranges: vec![CacheRange {
                mapping: self.mapping,
                offset: self.offset,
                bytes: self.blocks * self.block_bytes,
            }],
        }
    }
}

/// Returns the mapping of the server's shared memory: the largest shared mapping that can hold what
/// the server reports as allocated (`mmap` or `sysv`, whichever `shared_memory_type` selects).
fn main_mapping(root: &Root, postmaster: u32, bytes_min: u64) -> Result<Mapping, Error> {
    let mappings = proc_maps::read(root, postmaster)?.list;
    let is_main = |mapping: &Mapping| {
        let kind = residency::kind_of(&mapping.name, mapping.is_executable, false);
        mapping.is_shared && kind.is_shared_memory() && mapping.bytes() >= bytes_min
    };
    let candidates = mappings.into_iter().filter(is_main);
    let largest = candidates.max_by_key(Mapping::bytes);
    largest.ok_or_else(|| {
        Error::answer(
            "the maps of the postmaster",
            format!("shared memory of {bytes_min} bytes or more"),
            "none",
        )
    })
}
