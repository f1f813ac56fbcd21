//! A database writer: writes the dirty buffers of its pool to the data file, so that sessions find
//! clean buffers to take, and all of them at the checkpoint.

use std::sync::atomic::Ordering;
use std::time::Duration;

use linux::clock::process_cpu_ns;

use crate::layout::{BlockId, NO_BLOCK, PoolWriting, WriterCounters};
use crate::sga::Sga;
use crate::storage::{COPY_BLOCKS, CopyArea, Storage};
use crate::wait_clock::WaitClock;
use crate::{Error, content, replacement};

/// A writer writes without being asked when more than its pool's buffers divided by this are dirty.
const DIRTY_SHARE: u32 = 4;
/// Buffers that a writer writes before it checks for requests again.
const ROUND_BLOCKS: u32 = 8 * COPY_BLOCKS as u32;
/// Maximum sleep of a writer between checks while it has no requests.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Writes until the checkpoint is done, or the instance stops.
///
/// # Errors
/// [`Error::Unwritable`] when the file system is full or the device fails.
pub(crate) fn run(sga: Sga<'_>, storage: &Storage<'_>, pool: u32) -> Result<(), Error> {
    let mut writer = Writer::new(sga, storage, pool)?;
    let gate = &sga.control.gate.0;
    loop {
        if gate.checkpoint.load(Ordering::Acquire) != 0 {
            return writer.checkpoint();
        }
        if gate.stop.load(Ordering::Acquire) != 0 {
            return Ok(());
        }
        let asked = writer.wanted().swap(0, Ordering::AcqRel) != 0;
        let buffers = sga.layout.buffers_per_pool();
        let too_many = writer.state().dirty.load(Ordering::Relaxed) > buffers / DIRTY_SHARE;
        let written = match asked || too_many {
            true => writer.round(ROUND_BLOCKS)?,
            false => 0,
        };
        if written == 0 {
            linux::futex::wait(writer.wanted(), 0, Some(LOOK_EVERY));
        }
    }
}

/// A writer with the blocks it is about to write.
pub(crate) struct Writer<'m, 's> {
    sga: Sga<'m>,
    storage: &'s Storage<'m>,
    pool: u32,
    waits: WaitClock,
    area: CopyArea,
    /// Pinned and copied buffers, by the place of the copy.
    buffers: [u32; COPY_BLOCKS],
    count: usize,
}

impl<'m, 's> Writer<'m, 's> {
    /// Creates the writer of `pool`.
    ///
    /// # Errors
    /// When the memory for its copies cannot be allocated.
    pub(crate) fn new(sga: Sga<'m>, storage: &'s Storage<'m>, pool: u32) -> Result<Self, Error> {
        Ok(Writer {
            sga,
            storage,
            pool,
            waits: WaitClock::new()?,
            area: CopyArea::new()?,
            buffers: [0; COPY_BLOCKS],
            count: 0,
        })
    }

    /// Writes every dirty buffer of the pool and syncs the file to the device. No session runs.
    ///
    /// # Errors
    /// As for [`run`].
    pub(crate) fn checkpoint(&mut self) -> Result<(), Error> {
        while self.round(u32::MAX)? > 0 {}
        Ok(self.storage.file().sync()?)
    }

    /// Writes dirty buffers in one turn of the pool, starting at the clock's hand, until at least
    /// `most` are written, in batches of [`COPY_BLOCKS`]. Returns how many.
    ///
    /// # Errors
    /// As for [`run`].
    pub(crate) fn round(&mut self, most: u32) -> Result<u32, Error> {
        let each = self.sga.layout.buffers_per_pool();
        let hand = &self.sga.pools[self.pool as usize].hand.0;
        let start = (hand.load(Ordering::Relaxed) % u64::from(each)) as u32;
        let mut written = 0;
        for place in (start..each).chain(0..start) {
            self.collect(self.pool * each + place);
            if self.count == COPY_BLOCKS {
                written += self.write()?;
            }
            if written >= most || self.state().dirty.load(Ordering::Relaxed) == 0 {
                break;
            }
        }
        Ok(written + self.write()?)
    }

    /// Pins and copies a buffer if it is dirty.
    fn collect(&mut self, buffer: u32) {
        let header = &self.sga.headers[buffer as usize];
        if header.dirty.load(Ordering::Relaxed) == 0 {
            return;
        }
        let id = header.block_id.load(Ordering::Relaxed);
        if id == NO_BLOCK || !self.pin(buffer, BlockId(id)) {
            return;
        }
        let copy = &self.area.blocks()[self.count];
        if content::copy_if_dirty(&self.sga, buffer, copy, &mut self.waits) {
            self.buffers[self.count] = buffer;
            self.count += 1;
        } else {
            replacement::give_back(&self.sga, buffer);
        }
    }

    /// Pins a buffer if it still holds this block.
    fn pin(&mut self, buffer: u32, id: BlockId) -> bool {
        let header = &self.sga.headers[buffer as usize];
        let bucket = self.sga.bucket_of(id);
        let waits = &mut self.waits;
        bucket.latch.acquire(|sleep| waits.bucket_latch(sleep));
        let is_there = header.block_id.load(Ordering::Relaxed) == id.0;
        if is_there {
            header.pins.fetch_add(1, Ordering::Relaxed);
        }
        bucket.latch.release();
        is_there
    }

    /// Writes the copies and releases their buffers, which may then be taken. Returns how many.
    fn write(&mut self) -> Result<u32, Error> {
        let count = std::mem::take(&mut self.count);
        if count == 0 {
            return Ok(0);
        }
        self.storage
            .write_copies(&self.sga.layout, &self.area, count)?;
        for buffer in &self.buffers[..count] {
            replacement::give_back(&self.sga, *buffer);
        }
        let counters = self.counters();
        counters
            .blocks_written
            .fetch_add(count as u64, Ordering::Relaxed);
        counters.cpu_ns.store(process_cpu_ns(), Ordering::Relaxed);
        let cleaned = &self.sga.control.writing.0.cleaned;
        cleaned.fetch_add(1, Ordering::Release);
        linux::futex::wake(cleaned, u32::MAX >> 1);
        Ok(count as u32)
    }

    fn state(&self) -> &'m PoolWriting {
        &self.sga.pools[self.pool as usize].writing.0
    }

    fn wanted(&self) -> &'m std::sync::atomic::AtomicU32 {
        &self.state().wanted
    }

    fn counters(&self) -> &'m WriterCounters {
        &self.sga.writer_slots()[self.pool as usize].writer.0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::Ordering;

    use proptest::prelude::*;

    use super::{Writer, run};
    use crate::checkpoint::{TableUpdates, difference, updates_in_file};
    use crate::layout::{BlockId, WaitEvent};
    use crate::replacement;
    use crate::small_sga::SmallSga;
    use crate::statement::{Table, select, update};

    /// Statements per thread of a stress test.
    const STATEMENTS: u32 = 150;
    /// Threads that execute statements, two per table.
    const THREADS: u32 = 4;

    /// Reads and updates in several threads, with more data than buffers or not, while writers
    /// write: every row read is whole, and after the checkpoint the data file has every update
    /// once.
    fn every_update_is_in_the_file(pools: u32, data_bytes: Option<u64>, seed: u64) {
        let small = &SmallSga::with_updates(pools, data_bytes);
        let made = &Mutex::new(vec![TableUpdates::default(); 2]);
        std::thread::scope(|scope| {
            let writer = |pool| {
                scope.spawn(move || {
                    let view = small.view();
                    run(view.sga(), &view.storage(), pool).unwrap();
                })
            };
            let writers: Vec<_> = (0..pools).map(writer).collect();
            let session = |number| {
                scope.spawn(move || {
                    let table = small.table(number % 2);
                    let updates =
                        statements(small, table, number % pools, seed + u64::from(number));
                    let sum = &mut made.lock().unwrap()[table.number as usize];
                    sum.updates += updates.updates;
                    sum.keys = sum.keys.wrapping_add(updates.keys);
                })
            };
            let sessions: Vec<_> = (0..THREADS).map(session).collect();
            let ends: Vec<_> = sessions.into_iter().map(|it| it.join()).collect();
            // End the writers even if a session failed.
            let view = small.view();
            let checkpoint = &view.sga().control.gate.0.checkpoint;
            checkpoint.store(1, Ordering::Release);
            ends.into_iter().for_each(|end| end.unwrap());
            writers.into_iter().for_each(|it| it.join().unwrap());
        });
        let view = small.view();
        let found = updates_in_file(&small.layout, &view.storage()).unwrap();
        assert_eq!(difference(&found, &made.lock().unwrap()), None);
        let sga = view.sga();
        for header in sga.headers {
            let state = [&header.pins, &header.dirty].map(|word| word.load(Ordering::Relaxed));
            assert_eq!(state, [0, 0], "no pin and no dirt is left");
        }
        for pool in sga.pools {
            assert_eq!(pool.writing.0.dirty.load(Ordering::Relaxed), 0);
        }
    }

    fn statements(small: &SmallSga, table: Table, home_pool: u32, seed: u64) -> TableUpdates {
        let view = small.view();
        let mut reader = view.reader(home_pool);
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..STATEMENTS {
            let count = random.u32(1..=table.rows.min(40));
            let first = random.u64(0..=u64::from(table.rows - count));
            let answer = match random.bool() {
                true => update(&mut reader, table, first, count),
                false => select(&mut reader, table, first, count),
            };
            let answer = answer.unwrap();
            assert_eq!((answer.rows, answer.wrong), (count, 0));
        }
        TableUpdates {
            updates: reader.rows_updated,
            keys: reader.updated_keys,
        }
    }

    #[test]
    fn every_update_is_in_the_file_whatever_the_cache_holds() {
        for pools in [1, 4] {
            for data_bytes in [Some(8 << 20), Some(2 << 20), None] {
                every_update_is_in_the_file(pools, data_bytes, 1);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(6))]
        #[test]
        fn every_update_is_in_the_file_with_any_seed(
            pools in 1u32..=4, mebibytes in 1u64..=3, seed: u32
        ) {
            every_update_is_in_the_file(pools, Some(mebibytes << 20), seed.into());
        }
    }

    #[test]
    fn who_finds_only_dirty_buffers_asks_the_writer_and_waits_for_a_free_one() {
        let small = &SmallSga::with_updates(1, Some(8 << 20));
        let view = small.view();
        let sga = view.sga();
        for header in sga.headers {
            header.dirty.store(1, Ordering::Relaxed);
        }
        let writing = &sga.pools[0].writing.0;
        writing.dirty.store(sga.layout.buffers, Ordering::Relaxed);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let view = small.view();
                let (sga, storage) = (view.sga(), view.storage());
                let writing = &sga.pools[0].writing.0;
                while writing.wanted.load(Ordering::Acquire) == 0 {
                    std::thread::yield_now();
                }
                Writer::new(sga, &storage, 0).unwrap().round(40).unwrap();
            });
            let mut reader = view.reader(0);
            let taken = replacement::take(&sga, 0, &mut reader.waits);
            let waits = reader.waits.counts[WaitEvent::FreeBuffer as usize];
            assert!(taken.is_some() && waits > 0, "{waits} waits");
        });
        let dirty = writing.dirty.load(Ordering::Relaxed);
        assert_eq!(dirty, sga.layout.buffers - 64, "two calls of 32 blocks");
    }

    #[test]
    fn a_row_that_another_wrote_over_is_found_at_the_checkpoint() {
        let small = SmallSga::with_updates(1, None);
        let view = small.view();
        let mut reader = view.reader(0);
        update(&mut reader, small.table(0), 3, 5).unwrap();
        let made = vec![
            TableUpdates {
                updates: reader.rows_updated,
                keys: reader.updated_keys,
            },
            TableUpdates::default(),
        ];
        assert_eq!((made[0].updates, made[0].keys), (5, 3 + 4 + 5 + 6 + 7));
        let storage = view.storage();
        let before = updates_in_file(&small.layout, &storage).unwrap();
        assert!(
            difference(&before, &made)
                .unwrap()
                .contains("has 0 updates of table 0")
        );
        let mut writer = Writer::new(view.sga(), &storage, 0).unwrap();
        writer.checkpoint().unwrap();
        let after = updates_in_file(&small.layout, &storage).unwrap();
        assert_eq!(difference(&after, &made), None);
        let position = small.layout.file_position(BlockId::row(1, 0));
        std::os::unix::fs::FileExt::write_at(&small.damage(), b"!", position + 5000).unwrap();
        let error = updates_in_file(&small.layout, &storage).unwrap_err();
        assert!(
            error.to_string().contains(&format!("at byte {position} ")),
            "{error}"
        );
    }
}
