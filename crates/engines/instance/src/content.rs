//! Reads and changes the content of a pinned buffer while others read it, change it and write it to
//! the data file. docs/instance.md, "Updates", describes the protocol.

use std::hint::spin_loop;
use std::sync::atomic::{Ordering, fence};

use crate::block::Row;
use crate::layout::{Block, BufferHeader, WaitEvent};
use crate::sga::Sga;
use crate::wait_clock::WaitClock;

/// Maximum number of optimistic reads of a content before the reader takes the content latch.
const READS_MAX: u32 = 2000;

/// Returns what `read` finds in a pinned buffer, never a half-changed content.
#[inline]
pub(crate) fn read<T>(header: &BufferHeader, waits: &mut WaitClock, read: impl Fn() -> T) -> T {
    for _ in 0..READS_MAX {
        let version = header.version.load(Ordering::Acquire);
        if version.is_multiple_of(2) {
            let found = read();
            // The loads of the content come before the second load of the version.
            fence(Ordering::Acquire);
            if header.version.load(Ordering::Relaxed) == version {
                return found;
            }
        }
        spin_loop();
    }
    exclusively(header, waits, read)
}

/// Counts one more update in the row of slot 0 and marks the buffer dirty; returns the row as it
/// was before. Leaves a row that is not row `key` of `table` unchanged and returns `None`.
pub(crate) fn update(
    sga: &Sga<'_>,
    buffer: u32,
    (table, key): (u32, u64),
    waits: &mut WaitClock,
) -> Option<Row> {
    let (header, block) = (&sga.headers[buffer as usize], &sga.blocks[buffer as usize]);
    exclusively(header, waits, || {
        let row = block.row(0).filter(|row| row.is(table, key))?;
        let version = header.version.load(Ordering::Relaxed);
        header
            .version
            .store(version.wrapping_add(1), Ordering::Relaxed);
        // The odd version comes before the stores of the content, the even one after them.
        fence(Ordering::Release);
        block.replace_row(0, row.updated(table));
        header
            .version
            .store(version.wrapping_add(2), Ordering::Release);
        if header.dirty.load(Ordering::Relaxed) == 0 {
            header.dirty.store(1, Ordering::Relaxed);
            let writing = &sga.pools[sga.layout.pool_of(buffer) as usize].writing.0;
            writing.dirty.fetch_add(1, Ordering::Relaxed);
        }
        Some(row)
    })
}

/// Copies a pinned buffer if it is dirty and marks it clean. Returns whether it was dirty.
pub(crate) fn copy_if_dirty(
    sga: &Sga<'_>,
    buffer: u32,
    copy: &Block,
    waits: &mut WaitClock,
) -> bool {
    let header = &sga.headers[buffer as usize];
    exclusively(header, waits, || {
        let is_dirty = header.dirty.load(Ordering::Relaxed) != 0;
        if is_dirty {
            copy.copy_from(&sga.blocks[buffer as usize]);
            header.dirty.store(0, Ordering::Relaxed);
            let writing = &sga.pools[sga.layout.pool_of(buffer) as usize].writing.0;
            writing.dirty.fetch_sub(1, Ordering::Relaxed);
        }
        is_dirty
    })
}

/// Runs `act` on a pinned buffer while no other process changes or copies its content.
fn exclusively<T>(header: &BufferHeader, waits: &mut WaitClock, act: impl FnOnce() -> T) -> T {
    header
        .content
        .acquire(|sleep| waits.time(WaitEvent::BufferBusy, sleep));
    let result = act();
    header.content.release();
    result
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::{read, update};
    use crate::layout::BlockId;
    use crate::small_sga::SmallSga;

    /// Two threads change one row while two read it.
    #[test]
    fn no_reader_sees_half_an_update_and_no_update_is_lost() {
        const UPDATES: u64 = 20_000;
        let small = SmallSga::with_updates(1, None);
        let view = small.view();
        let sga = view.sga();
        let id = BlockId::row(0, 0).0;
        let holds = |place: &usize| sga.headers[*place].block_id.load(Ordering::Relaxed) == id;
        let buffer = (0..sga.headers.len()).find(holds).unwrap();
        let key = sga.blocks[buffer].row(0).unwrap().key;
        let (small, is_over) = (&small, &AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(move || {
                    let view = small.view();
                    let (sga, mut reader) = (view.sga(), view.reader(0));
                    let mut last = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        let header = &sga.headers[buffer];
                        let row = read(header, &mut reader.waits, || sga.blocks[buffer].row(0));
                        let row = row.unwrap();
                        assert!(
                            row.is(0, key) && row.updates >= last,
                            "{row:?} after {last}"
                        );
                        last = row.updates;
                    }
                });
            }
            let updater = || {
                scope.spawn(move || {
                    let view = small.view();
                    let (sga, mut reader) = (view.sga(), view.reader(0));
                    for _ in 0..UPDATES {
                        let row = update(&sga, buffer as u32, (0, key), &mut reader.waits);
                        assert!(row.is_some());
                    }
                })
            };
            let updaters = [updater(), updater()];
            let ends: Vec<_> = updaters.into_iter().map(|it| it.join()).collect();
            is_over.store(true, Ordering::Relaxed);
            ends.into_iter().for_each(|end| end.unwrap());
        });
        let row = sga.blocks[buffer].row(0).unwrap();
        assert_eq!((row.updates, row.is(0, key)), (2 * UPDATES, true));
        let header = &sga.headers[buffer];
        assert_eq!(header.dirty.load(Ordering::Relaxed), 1);
        let counted = sga.pools[0].writing.0.dirty.load(Ordering::Relaxed);
        assert_eq!(counted, 1, "a buffer is dirty once");
        let waits = &mut view.reader(0).waits;
        assert!(update(&sga, buffer as u32, (0, key + 1), waits).is_none());
        assert_eq!(sga.blocks[buffer].row(0).unwrap(), row);
    }
}
