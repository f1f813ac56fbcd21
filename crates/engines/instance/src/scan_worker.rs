//! A worker of a parallel scan: takes granules, sums them, reports to the instance.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::Duration;

use linux::affinity::current_cpu;
use model::Stealing;

use crate::Error;
use crate::block::Kind;
use crate::buffer_cache::{Pinned, Reader};
use crate::column_sum::column_sum;
use crate::layout::{BLOCK_BYTES, BlockId, CPU_WORDS, ScanPhase, SessionState, WaitEvent};
use crate::sga::Sga;
use crate::snapshot::Snapshot;

/// Blocks in a granule: 1 MiB. Large enough to make taking one cheap, small enough that no worker
/// waits long for the last ones.
pub(crate) const GRANULE_BLOCKS: u32 = (1 << 20) / BLOCK_BYTES as u32;

/// Blocks that the worker pins ahead. A block must be pinned before its lines are prefetched, and
/// pinning several in a row lets the processor overlap their misses.
const LEAD_BLOCKS: usize = 8;

/// Scans each time the instance starts a scan, until the instance asks for the results.
///
/// # Errors
/// When a block cannot be read.
pub(crate) fn run(
    sga: Sga<'_>,
    reader: Reader<'_>,
    number: u32,
    stealing: Stealing,
) -> Result<(), Error> {
    let mut worker = Worker {
        sga,
        reader,
        number,
        stealing,
        scans: 0,
        window: None,
        cpus_used: [0; CPU_WORDS],
        pinned: VecDeque::with_capacity(LEAD_BLOCKS + 1),
    };
    let state = &sga.control.scan.0;
    let mut last = 0;
    loop {
        worker.wait_for_other_than(last);
        last = state.number.load(Ordering::Acquire);
        let phase = state.phase.load(Ordering::Relaxed);
        if sga.control.gate.0.stop.load(Ordering::Relaxed) != 0 {
            return Ok(());
        }
        if phase == ScanPhase::Publish as u32 {
            worker.publish();
            return Ok(());
        }
        if phase == ScanPhase::Measure as u32 && worker.window.is_none() {
            worker.begin_window();
        }
        worker.scan()?;
    }
}

struct Worker<'m> {
    sga: Sga<'m>,
    reader: Reader<'m>,
    number: u32,
    stealing: Stealing,
    scans: u64,
    window: Option<Snapshot>,
    cpus_used: [u64; CPU_WORDS],
    /// The pinned blocks of a granule; allocated once, because nothing allocates in a window.
    pinned: VecDeque<(BlockId, Pinned<'m>)>,
}

/// A range of blocks of one pool.
struct Granule {
    pool: u32,
    first: u32,
    blocks: u32,
}

impl<'m> Worker<'m> {
    fn wait_for_other_than(&mut self, last: u32) {
        let control = self.sga.control;
        let number = &control.scan.0.number;
        let is_over = || control.gate.0.stop.load(Ordering::Relaxed) != 0;
        self.reader.waits.time(WaitEvent::ForWork, || {
            while number.load(Ordering::Acquire) == last && !is_over() {
                linux::futex::wait(number, last, Some(Duration::from_secs(1)));
            }
        });
    }

    fn begin_window(&mut self) {
        self.window = Some(Snapshot::take(&self.reader, None, self.scans, 0));
        for pool in 0..self.sga.layout.pools {
            self.reads_of(pool).store(0, Ordering::Relaxed);
        }
    }

    /// Runs this worker's part of one scan.
    fn scan(&mut self) -> Result<(), Error> {
        let (mut sum, mut blocks) = (0u64, 0u64);
        self.note_cpu();
        while let Some(granule) = self.next_granule() {
            sum = sum.wrapping_add(self.add_up(&granule)?);
            blocks += u64::from(granule.blocks);
            let reads = self.reads_of(granule.pool);
            let before = reads.load(Ordering::Relaxed);
            reads.store(before + u64::from(granule.blocks), Ordering::Relaxed);
            self.note_cpu();
        }
        self.scans += 1;
        let found = &self.sga.slots[self.number as usize].found.0;
        found.sum.store(sum, Ordering::Relaxed);
        found.blocks.store(blocks, Ordering::Relaxed);
        let done = &self.sga.control.scan.0.done;
        if done.fetch_add(1, Ordering::Release) + 1 == self.sga.layout.sessions {
            linux::futex::wake(done, 1);
        }
        Ok(())
    }

    fn note_cpu(&mut self) {
        let cpu = current_cpu().0 as usize;
        self.cpus_used[cpu / 64 % CPU_WORDS] |= 1 << (cpu % 64);
    }

    /// Pins the blocks of a granule, sums each once some more are pinned, and releases it.
    fn add_up(&mut self, granule: &Granule) -> Result<u64, Error> {
        let first = BlockId::column(granule.first);
        if !self.sga.layout.holds_everything() {
            self.reader.read_ahead(first, granule.blocks)?;
        }
        self.reader.approach(first, granule.blocks);
        let mut ids = (first.0..first.0 + u64::from(granule.blocks)).map(BlockId);
        let mut sum = 0u64;
        loop {
            if let Some(id) = ids.next() {
                let found = self.reader.pin(id)?;
                self.pinned.push_back((id, found));
                if self.pinned.len() <= LEAD_BLOCKS {
                    continue;
                }
            }
            let Some((id, found)) = self.pinned.pop_front() else {
                return Ok(sum);
            };
            found.check(id)?;
            if !found.block.is(Kind::Column) {
                return Err(Error::NoColumn(id));
            }
            let next = self.pinned.front();
            let next = next.map_or(found.block, |(_, next)| next.block);
            // SAFETY: both are pinned. Column blocks are written only by the loader and by a reader
            // that fills them from the file, before they can be pinned.
            sum = sum.wrapping_add(unsafe { column_sum(found.block, next) });
            self.reader.release(found);
        }
    }

    /// Takes the next granule, from this worker's pools first, then as stealing permits.
    fn next_granule(&self) -> Option<Granule> {
        let (pools, workers) = (self.sga.layout.pools, self.sga.layout.sessions);
        match self.stealing {
            Stealing::Free => (0..pools).find_map(|pool| self.take(pool)),
            Stealing::Off => {
                own_pools(self.number, workers, pools).find_map(|pool| self.take(pool))
            }
            Stealing::AfterLocal => {
                let own = own_pools(self.number, workers, pools);
                let others = (1..pools).map(|step| (self.number % pools + step) % pools);
                own.chain(others).find_map(|pool| self.take(pool))
            }
        }
    }

    /// Takes a granule of a pool, if any is left.
    fn take(&self, pool: u32) -> Option<Granule> {
        let stretch = self.sga.layout.column_stretch(pool);
        let granules = u64::from((stretch.end - stretch.start).div_ceil(GRANULE_BLOCKS));
        let counter = &self.sga.pools[pool as usize].granule.0;
        // Load first: workers often poll a finished pool and must not write to it each time.
        if counter.load(Ordering::Relaxed) >= granules {
            return None;
        }
        let number = counter.fetch_add(1, Ordering::Relaxed);
        (number < granules).then(|| {
            let first = stretch.start + number as u32 * GRANULE_BLOCKS;
            Granule {
                pool,
                first,
                blocks: GRANULE_BLOCKS.min(stretch.end - first),
            }
        })
    }

    fn reads_of(&self, pool: u32) -> &'m std::sync::atomic::AtomicU64 {
        let pools = self.sga.layout.pools;
        &self.sga.reads[(self.number * pools + pool) as usize]
    }

    fn publish(&self) {
        let result = &self.sga.slots[self.number as usize].result;
        if let Some(start) = &self.window {
            let end = Snapshot::take(&self.reader, None, self.scans, 0);
            end.publish_since(start, result);
        }
        for (field, word) in result.cpus_used.iter().zip(self.cpus_used) {
            field.store(word, Ordering::Relaxed);
        }
        self.sga.set_state(self.number, SessionState::Finished);
    }
}

/// Returns the pools of worker `number`: that of its node and, if there are fewer workers than
/// pools, its share of the pools without one.
fn own_pools(number: u32, workers: u32, pools: u32) -> impl Iterator<Item = u32> {
    (number % pools..pools).step_by(workers as usize)
}

#[cfg(test)]
mod tests {
    use super::own_pools;

    #[test]
    fn every_pool_has_a_worker_and_no_worker_needs_another() {
        for (workers, pools) in [(1, 1), (5, 1), (1, 4), (3, 4), (4, 4), (9, 4), (2, 32)] {
            let mut owners = vec![0; pools as usize];
            for worker in 0..workers {
                let own: Vec<u32> = own_pools(worker, workers, pools).collect();
                assert_eq!(own[0], worker % pools, "its own first");
                own.into_iter().for_each(|pool| owners[pool as usize] += 1);
            }
            let expected = if workers < pools { 1 } else { workers / pools };
            assert!(
                owners.iter().all(|&count| count >= expected),
                "{workers} {pools}: {owners:?}"
            );
        }
    }
}
