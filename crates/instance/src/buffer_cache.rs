//! The buffer cache: finding and pinning a block, and releasing it.

use std::sync::atomic::Ordering;

use crate::Error;
use crate::layout::{Block, BlockId, NONE};
use crate::sga::Sga;
use crate::wait_clock::WaitClock;

/// A block that is found and pinned. Must be given back with [`Reader::release`].
#[must_use]
pub struct Pinned<'m> {
    buffer: u32,
    /// The block.
    pub block: &'m Block,
}

/// One reader's way into the cache, with its count of logical reads.
pub struct Reader<'m> {
    sga: Sga<'m>,
    /// Logical reads made.
    pub logical_reads: u64,
    /// Named waits met.
    pub waits: WaitClock,
}

impl<'m> Reader<'m> {
    /// A reader of `sga`.
    pub fn new(sga: Sga<'m>, waits: WaitClock) -> Self {
        Reader {
            sga,
            logical_reads: 0,
            waits,
        }
    }

    /// Finds and pins a block: one logical read.
    ///
    /// # Errors
    /// [`Error::NotCached`] when the block is not in the cache; [`Error::WrongBlock`] when its
    /// buffer holds another, after which the pin is of no more use.
    #[inline]
    pub fn get(&mut self, id: BlockId) -> Result<Pinned<'m>, Error> {
        let sga = self.sga;
        let bucket = sga.bucket_of(id);
        bucket.latch.acquire(|sleep| self.waits.bucket_latch(sleep));
        let mut buffer = bucket.first.load(Ordering::Relaxed);
        while buffer != NONE {
            let header = &sga.headers[buffer as usize];
            if header.block_id.load(Ordering::Relaxed) == id.0 {
                header.pins.fetch_add(1, Ordering::Relaxed);
                break;
            }
            buffer = header.next.load(Ordering::Relaxed);
        }
        bucket.latch.release();
        if buffer == NONE {
            return Err(Error::NotCached(id));
        }
        self.logical_reads += 1;
        let block = &sga.blocks[buffer as usize];
        if block.id() != id {
            return Err(Error::WrongBlock {
                wanted: id,
                found: block.id(),
            });
        }
        Ok(Pinned { buffer, block })
    }

    /// Gives a block back.
    #[inline]
    pub fn release(&self, pinned: Pinned<'m>) {
        self.sga.headers[pinned.buffer as usize]
            .pins
            .fetch_sub(1, Ordering::Release);
    }
}

/// Puts a block into a buffer and its header into the directory. For the loader: no session runs.
pub fn install(sga: &Sga<'_>, buffer: u32, id: BlockId) {
    let header = &sga.headers[buffer as usize];
    let bucket = sga.bucket_of(id);
    header.block_id.store(id.0, Ordering::Relaxed);
    header.pins.store(0, Ordering::Relaxed);
    header
        .next
        .store(bucket.first.load(Ordering::Relaxed), Ordering::Relaxed);
    bucket.first.store(buffer, Ordering::Release);
}
