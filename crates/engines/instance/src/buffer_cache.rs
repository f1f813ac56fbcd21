//! The buffer cache: finds and pins a block, reads it if necessary, and releases it.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::block::Row;
use crate::emulated_cost::ReadCost;
use crate::layout::{Block, BlockId, Bucket, BufferState, NO_BLOCK, NONE, WaitEvent};
use crate::replacement::USAGE_MAX;
use crate::sga::Sga;
use crate::storage::{READ_AHEAD_BLOCKS, Storage};
use crate::wait_clock::WaitClock;
use crate::{Error, content, replacement};

/// A pinned block. Release it with [`Reader::release`].
#[must_use]
pub(crate) struct Pinned<'m> {
    buffer: u32,
    /// The block.
    pub block: &'m Block,
}

impl Pinned<'_> {
    /// Checks that the buffer holds the block that its header names.
    ///
    /// # Errors
    /// [`Error::WrongBlock`] if it does not, after which the pin need not be released.
    #[inline]
    pub(crate) fn check(&self, id: BlockId) -> Result<(), Error> {
        let found = self.block.id();
        match found == id {
            true => Ok(()),
            false => Err(Error::WrongBlock { wanted: id, found }),
        }
    }
}

/// One reader's access to the cache, with its counts of reads.
pub(crate) struct Reader<'m> {
    sga: Sga<'m>,
    storage: Option<Storage<'m>>,
    home_pool: u32,
    /// Logical reads made.
    pub logical_reads: u64,
    /// Blocks read from the data file.
    pub physical_reads: u64,
    /// Rows updated.
    pub rows_updated: u64,
    /// Sum of the keys of updated rows, modulo 2^64.
    pub updated_keys: u64,
    /// Counts and times of named waits.
    pub waits: WaitClock,
    /// What each read costs beside its own time.
    pub cost: Option<ReadCost<'m>>,
}

impl<'m> Reader<'m> {
    /// Creates a reader of `sga` that takes buffers of `home_pool` first. Without `storage`, blocks
    /// that are not in the cache are not available.
    pub(crate) fn new(
        sga: Sga<'m>,
        storage: Option<Storage<'m>>,
        home_pool: u32,
        waits: WaitClock,
    ) -> Self {
        Reader {
            sga,
            storage,
            home_pool,
            logical_reads: 0,
            physical_reads: 0,
            rows_updated: 0,
            updated_keys: 0,
            waits,
            cost: None,
        }
    }

    /// Finds and pins a block: one logical read. Reads it from the data file if necessary.
    ///
    /// # Errors
    /// [`Error::NotCached`] when the block is not in the cache and there is no data file;
    /// [`Error::WrongBlock`] when its buffer holds another block, after which the pin need not be
    /// released; and the errors of reading it.
    #[inline]
    pub(crate) fn get(&mut self, id: BlockId) -> Result<Pinned<'m>, Error> {
        let pinned = self.pin(id)?;
        pinned.check(id)?;
        Ok(pinned)
    }

    /// Like [`Reader::get`], but does not access the block: [`Pinned::check`] does. A scan pins
    /// many blocks before it reads the first.
    ///
    /// # Errors
    /// As for [`Reader::get`].
    #[inline]
    pub(crate) fn pin(&mut self, id: BlockId) -> Result<Pinned<'m>, Error> {
        let sga = self.sga;
        let bucket = sga.bucket_of(id);
        bucket.latch.acquire(|sleep| self.waits.bucket_latch(sleep));
        let buffer = find(&sga, bucket, id);
        if let Some(buffer) = buffer {
            let header = &sga.headers[buffer as usize];
            header.pins.fetch_add(1, Ordering::Relaxed);
            let usage = header.usage.load(Ordering::Relaxed);
            if usage < USAGE_MAX {
                header.usage.store(usage + 1, Ordering::Relaxed);
            }
        }
        bucket.latch.release();
        let Some(buffer) = buffer else {
            return self.fetch(id);
        };
        let state = &sga.headers[buffer as usize].state;
        if state.load(Ordering::Acquire) != BufferState::Valid as u32 {
            self.wait_until_read(id, state)?;
        }
        Ok(self.pinned(buffer))
    }

    /// Returns the block of a pinned buffer and counts the logical read.
    #[inline]
    fn pinned(&mut self, buffer: u32) -> Pinned<'m> {
        self.logical_reads += 1;
        if let Some(cost) = &mut self.cost {
            cost.charge(buffer);
        }
        let block = &self.sga.blocks[buffer as usize];
        Pinned { buffer, block }
    }

    /// Reads one block that was not found in the cache.
    #[cold]
    fn fetch(&mut self, id: BlockId) -> Result<Pinned<'m>, Error> {
        match self.claim(id)? {
            Some(buffer) => {
                self.read(id, &[buffer], WaitEvent::SequentialRead)?;
                Ok(self.pinned(buffer))
            }
            // Another session was faster.
            None => self.pin(id),
        }
    }

    /// Reads those of `count` consecutive blocks, starting with `first`, that are not in the cache,
    /// many at once, for a scan that is about to pin them.
    ///
    /// # Errors
    /// As for [`Reader::get`].
    pub(crate) fn read_ahead(&mut self, first: BlockId, count: u32) -> Result<(), Error> {
        let mut run = [0; READ_AHEAD_BLOCKS];
        let mut length = 0;
        for number in 0..u64::from(count) {
            let id = BlockId(first.0 + number);
            match self.claim(id)? {
                Some(buffer) => {
                    run[length] = buffer;
                    length += 1;
                }
                None => self.read_run(id, &run[..std::mem::take(&mut length)])?,
            }
            if length == READ_AHEAD_BLOCKS {
                let next = BlockId(id.0 + 1);
                self.read_run(next, &run[..std::mem::take(&mut length)])?;
            }
        }
        let end = BlockId(first.0 + u64::from(count));
        self.read_run(end, &run[..length])
    }

    /// Reads the blocks that end before `end` into the buffers claimed for them, and unpins them.
    fn read_run(&mut self, end: BlockId, buffers: &[u32]) -> Result<(), Error> {
        if buffers.is_empty() {
            return Ok(());
        }
        let first = BlockId(end.0 - buffers.len() as u64);
        let event = match buffers.len() {
            1 => WaitEvent::SequentialRead,
            _ => WaitEvent::ScatteredRead,
        };
        self.read(first, buffers, event)?;
        for buffer in buffers {
            replacement::give_back(&self.sga, *buffer);
        }
        Ok(())
    }

    /// Takes a buffer for a block and links it into the directory, for the caller to read into;
    /// `None` if the block is there already.
    fn claim(&mut self, id: BlockId) -> Result<Option<u32>, Error> {
        if self.storage.is_none() {
            return Err(Error::NotCached(id));
        }
        let sga = self.sga;
        let bucket = sga.bucket_of(id);
        bucket.latch.acquire(|sleep| self.waits.bucket_latch(sleep));
        let found = find(&sga, bucket, id);
        bucket.latch.release();
        if found.is_some() {
            return Ok(None);
        }
        let taken = replacement::take(&sga, self.home_pool, &mut self.waits);
        let buffer = taken.ok_or(Error::NoFreeBuffer(id))?;
        bucket.latch.acquire(|sleep| self.waits.bucket_latch(sleep));
        let is_missing = find(&sga, bucket, id).is_none();
        if is_missing {
            link(&sga, bucket, buffer, id, BufferState::Reading);
        }
        bucket.latch.release();
        if !is_missing {
            replacement::give_back(&sga, buffer);
        }
        Ok(is_missing.then_some(buffer))
    }

    /// Reads consecutive blocks into the buffers claimed for them, and wakes processes waiting for
    /// them.
    fn read(&mut self, first: BlockId, buffers: &[u32], event: WaitEvent) -> Result<(), Error> {
        let storage = self.storage.as_ref().ok_or(Error::NotCached(first))?;
        let sga = self.sga;
        let mut result = Ok(());
        self.waits
            .time_device(event, || result = storage.read(&sga, first, buffers));
        let state = match result {
            Ok(()) => BufferState::Valid,
            Err(_) => BufferState::Failed,
        };
        for buffer in buffers {
            let word = &sga.headers[*buffer as usize].state;
            word.store(state as u32, Ordering::Release);
            linux::futex::wake(word, u32::MAX >> 1);
        }
        self.physical_reads += buffers.len() as u64;
        result
    }

    #[cold]
    fn wait_until_read(&mut self, id: BlockId, state: &AtomicU32) -> Result<(), Error> {
        const READING: u32 = BufferState::Reading as u32;
        self.waits.time(WaitEvent::ReadByOther, || {
            while state.load(Ordering::Acquire) == READING {
                linux::futex::wait(state, READING, None);
            }
        });
        match state.load(Ordering::Acquire) == BufferState::Valid as u32 {
            true => Ok(()),
            false => Err(Error::NotReadByOther(id)),
        }
    }

    /// Loads the directory entries and headers of these blocks into this processor's caches. Unlike
    /// those between the locked instructions of [`Reader::pin`], these loads do not wait for one
    /// another.
    #[inline]
    pub(crate) fn approach(&self, first: BlockId, count: u32) {
        let ids = || (first.0..first.0 + u64::from(count)).map(BlockId);
        let mut touched = 0;
        for id in ids() {
            touched ^= self.sga.bucket_of(id).first.load(Ordering::Relaxed);
        }
        for id in ids() {
            let buffer = self.sga.bucket_of(id).first.load(Ordering::Relaxed);
            if let Some(header) = self.sga.headers.get(buffer as usize) {
                touched ^= header.pins.load(Ordering::Relaxed);
            }
        }
        std::hint::black_box(touched);
    }

    /// Returns the row of a pinned block, never half changed; `None` if it holds none.
    #[inline]
    pub(crate) fn row(&mut self, pinned: &Pinned<'m>) -> Option<Row> {
        let header = &self.sga.headers[pinned.buffer as usize];
        content::read(header, &mut self.waits, || pinned.block.row(0))
    }

    /// Updates row `key` of `table` in a pinned block; returns the row as it was before, or `None`
    /// if the block does not hold it, undamaged.
    #[inline]
    pub(crate) fn update_row(&mut self, pinned: &Pinned<'m>, table: u32, key: u64) -> Option<Row> {
        let row = content::update(&self.sga, pinned.buffer, (table, key), &mut self.waits)?;
        self.rows_updated += 1;
        self.updated_keys = self.updated_keys.wrapping_add(key);
        Some(row)
    }

    /// Unpins a block.
    #[inline]
    pub(crate) fn release(&self, pinned: Pinned<'m>) {
        self.sga.headers[pinned.buffer as usize]
            .pins
            .fetch_sub(1, Ordering::Release);
    }
}

/// Returns the buffer of a block. Call it with the bucket's latch held.
#[inline]
fn find(sga: &Sga<'_>, bucket: &Bucket, id: BlockId) -> Option<u32> {
    let mut buffer = bucket.first.load(Ordering::Relaxed);
    while buffer != NONE {
        let header = &sga.headers[buffer as usize];
        if header.block_id.load(Ordering::Relaxed) == id.0 {
            return Some(buffer);
        }
        buffer = header.next.load(Ordering::Relaxed);
    }
    None
}

/// Links a buffer into the directory. Call it with the bucket's latch held, or while no process
/// runs.
fn link(sga: &Sga<'_>, bucket: &Bucket, buffer: u32, id: BlockId, state: BufferState) {
    let header = &sga.headers[buffer as usize];
    header.block_id.store(id.0, Ordering::Relaxed);
    header.usage.store(1, Ordering::Relaxed);
    header.state.store(state as u32, Ordering::Relaxed);
    let first = bucket.first.load(Ordering::Relaxed);
    header.next.store(first, Ordering::Relaxed);
    bucket.first.store(buffer, Ordering::Release);
}

/// Frees every buffer and empties the directory. For the loader: no session runs.
pub(crate) fn clear(sga: &Sga<'_>) {
    for bucket in sga.directory {
        bucket.first.store(NONE, Ordering::Relaxed);
    }
    for header in sga.headers {
        header.block_id.store(NO_BLOCK, Ordering::Relaxed);
    }
}

/// Links a free buffer, which holds block `id`, into the directory. For the loader: no session
/// runs.
pub(crate) fn install(sga: &Sga<'_>, buffer: u32, id: BlockId) {
    link(sga, sga.bucket_of(id), buffer, id, BufferState::Valid);
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::Ordering;

    use crate::layout::{BLOCK_BYTES, BlockId};
    use crate::small_sga::SmallSga;
    use crate::statement::{Table, select};
    use crate::{Error, btree};

    /// Reads every row of both tables repeatedly in several threads: each answer is right, and
    /// afterwards nothing is pinned and every block is in the directory at most once.
    #[test]
    fn many_readers_of_more_data_than_buffers_read_every_row_right() {
        for pools in [1, 4] {
            let small = &SmallSga::new(pools);
            let table = small.table(0);
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    scope.spawn(move || {
                        let view = small.view();
                        let mut reader = view.reader(thread % pools);
                        let number = thread % 2;
                        let table = Table { number, ..table };
                        for start in 0..3 {
                            let count = table.rows - start;
                            let answer = select(&mut reader, table, start.into(), count).unwrap();
                            assert_eq!((answer.rows, answer.wrong), (count, 0));
                        }
                        assert!(reader.physical_reads > 100, "{}", reader.physical_reads);
                    });
                }
            });
            let view = small.view();
            let sga = view.sga();
            let mut blocks = std::collections::BTreeSet::new();
            for header in sga.headers {
                assert_eq!(header.pins.load(Ordering::Relaxed), 0);
                let id = header.block_id.load(Ordering::Relaxed);
                assert!(id == super::NO_BLOCK || blocks.insert(id), "{id:x} twice");
            }
            let in_chains: usize = sga
                .directory
                .iter()
                .map(|bucket| {
                    let mut buffer = bucket.first.load(Ordering::Relaxed);
                    let mut length = 0;
                    while buffer != super::NONE {
                        let header = &sga.headers[buffer as usize];
                        assert!(blocks.contains(&header.block_id.load(Ordering::Relaxed)));
                        buffer = header.next.load(Ordering::Relaxed);
                        length += 1;
                    }
                    length
                })
                .sum();
            assert_eq!(in_chains, blocks.len());
        }
    }

    #[test]
    fn one_reader_has_the_use_of_all_pools() {
        let small = SmallSga::new(4);
        let view = small.view();
        let mut reader = view.reader(2);
        let table = small.table(0);
        select(&mut reader, table, 0, table.rows).unwrap();
        let sga = view.sga();
        let turns: Vec<u64> = sga
            .pools
            .iter()
            .map(|pool| pool.hand.0.load(Ordering::Relaxed))
            .collect();
        let (least, most) = (turns.iter().min().unwrap(), turns.iter().max().unwrap());
        let lead = u64::from(small.layout.buffers_per_pool()) / 4;
        assert!(most - least <= lead, "{turns:?}");
        assert!(turns[2] >= *least, "{turns:?}");
    }

    #[test]
    fn what_was_read_stays_while_it_is_used() {
        let small = SmallSga::new(1);
        let view = small.view();
        let mut reader = view.reader(0);
        let root = BlockId::index(0, btree::root(small.layout.rows_per_table));
        let table = small.table(0);
        for key in 0..u64::from(table.rows) {
            select(&mut reader, table, key, 1).unwrap();
        }
        let before = reader.physical_reads;
        let pinned = reader.get(root).unwrap();
        reader.release(pinned);
        assert_eq!(
            reader.physical_reads, before,
            "the root is the most used block"
        );
    }

    #[test]
    fn a_corrupt_block_is_named_with_its_place() {
        let small = SmallSga::new(1);
        let view = small.view();
        let id = small.far_block();
        let position = small.layout.file_position(id);
        let mut byte = [0];
        let file = small.damage();
        file.read_at(&mut byte, position + 5000).unwrap();
        file.write_at(&[byte[0] ^ 4], position + 5000).unwrap();
        file.sync_all().unwrap();
        let error = view.reader(0).get(id).err().unwrap();
        assert!(
            matches!(error, Error::Corrupt { block, .. } if block == id),
            "{error}"
        );
        assert!(
            error.to_string().contains(&format!("at byte {position} ")),
            "{error}"
        );
    }

    #[test]
    fn a_block_behind_the_end_of_a_cut_file_is_named() {
        let small = SmallSga::new(1);
        let view = small.view();
        let id = small.far_block();
        small
            .damage()
            .set_len(small.layout.file_position(id) / BLOCK_BYTES * BLOCK_BYTES)
            .unwrap();
        let error = view.reader(0).get(id).err().unwrap();
        assert!(
            matches!(error, Error::Unreadable { block, .. } if block == id),
            "{error}"
        );
        let again = view.reader(0).get(id).err().unwrap();
        assert!(matches!(again, Error::NotReadByOther(_)), "{again}");
    }
}
