//! Replacement: selects the buffer to evict for a block that is not in the cache. One clock per
//! pool, balanced between the pools.
//!
//! Ownership: all processes that pin a buffer in the directory share it, and only the holder of its
//! bucket's latch may pin it for the first time or remove it. A buffer out of the directory has
//! block id [`NO_BLOCK`] and belongs to the process that raised its pins from 0 to 1. A dirty
//! buffer stays in the directory until its content is in the data file.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::layout::{BlockId, BufferHeader, NO_BLOCK, NONE, WaitEvent};
use crate::sga::Sga;
use crate::wait_clock::WaitClock;

/// Maximum number of clock passes that a buffer survives, however often it is used between them.
/// PostgreSQL has used the same value for decades (`BM_MAX_USAGE_COUNT`).
pub(crate) const USAGE_MAX: u32 = 5;

/// Maximum lead of one pool's clock over another's: a turn divided by this. A session takes buffers
/// of its own pool up to this lead, then of the others. Confined to its own pool, one session of
/// PostgreSQL's trials could use only part of the cache, and lost up to 27 %.
const LEAD_MAX: u64 = 8;

/// A session that has found more dirty buffers than a pool's buffers divided by this stops
/// searching and waits for the database writer.
const DIRTY_SEEN_SHARE: u32 = 8;

/// How long a session sleeps before it searches again although no writer woke it.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Number of unsuccessful sleeps before a session gives up: a minute.
const SLEEPS_MAX: u32 = 600;

/// How long a session sleeps after it found every buffer in use. Sessions and writers hold pins for
/// microseconds, or longer while they wait for a CPU.
const LOOK_SOON: Duration = Duration::from_millis(1);

/// Number of consecutive searches that find every buffer in use before a session gives up: a
/// second.
const LOOKS_IN_USE_MAX: u32 = 1000;

/// Takes a buffer to fill: removed from the directory, owned, pinned once, without a block. Waits
/// for the database writers while every candidate is dirty. Returns `None` if every buffer stays in
/// use, or the writers do not write.
pub(crate) fn take(sga: &Sga<'_>, home_pool: u32, waits: &mut WaitClock) -> Option<u32> {
    let cleaned = &sga.control.writing.0.cleaned;
    let (mut sleeps, mut in_use) = (0, 0);
    while sleeps < SLEEPS_MAX && in_use < LOOKS_IN_USE_MAX {
        // Load before the search: a buffer cleaned after this ends the sleep.
        let before = cleaned.load(Ordering::Acquire);
        match look_around(sga, home_pool, waits) {
            Found::Taken(buffer) => return Some(buffer),
            Found::InUse => {
                in_use += 1;
                waits.time(WaitEvent::FreeBuffer, || std::thread::sleep(LOOK_SOON));
            }
            Found::Dirty => {
                (sleeps, in_use) = (sleeps + 1, 0);
                waits.time(WaitEvent::FreeBuffer, || {
                    linux::futex::wait(cleaned, before, Some(LOOK_EVERY));
                });
            }
        }
    }
    None
}

/// Result of a search by the clocks.
enum Found {
    /// This buffer was taken.
    Taken(u32),
    /// Too many dirty buffers; their writers were asked to write.
    Dirty,
    /// Every buffer examined is pinned or was used recently.
    InUse,
}

/// Advances the clocks until a buffer is taken or the search fails.
fn look_around(sga: &Sga<'_>, home_pool: u32, waits: &mut WaitClock) -> Found {
    let mut dirty = 0;
    let turns = u64::from(USAGE_MAX + 2) * u64::from(sga.layout.buffers);
    for attempt in 0..turns {
        let pool = choose_pool(sga, home_pool, attempt);
        let buffers = sga.layout.buffers_per_pool();
        let hand = sga.pools[pool as usize]
            .hand
            .0
            .fetch_add(1, Ordering::Relaxed);
        let buffer = pool * buffers + (hand % u64::from(buffers)) as u32;
        match try_take(sga, buffer, waits) {
            Look::Taken => return Found::Taken(buffer),
            Look::InUse => {}
            Look::Dirty => {
                ask_writer(sga, pool);
                dirty += 1;
                if dirty > buffers / DIRTY_SEEN_SHARE {
                    return Found::Dirty;
                }
            }
        }
    }
    match dirty {
        0 => Found::InUse,
        _ => Found::Dirty,
    }
}

/// Asks the writer of a pool to write, unless it has been asked already.
fn ask_writer(sga: &Sga<'_>, pool: u32) {
    let wanted = &sga.pools[pool as usize].writing.0.wanted;
    if wanted.load(Ordering::Relaxed) == 0 {
        wanted.store(1, Ordering::Release);
        linux::futex::wake(wanted, 1);
    }
}

/// Returns the home pool, or another one if the home pool's clock is too far ahead of it.
fn choose_pool(sga: &Sga<'_>, home: u32, attempt: u64) -> u32 {
    let pools = sga.layout.pools;
    if pools == 1 {
        return 0;
    }
    let hand = |pool: u32| sga.pools[pool as usize].hand.0.load(Ordering::Relaxed);
    // Compare with a different pool for each buffer needed and each failed attempt, so that all
    // take part.
    let step = 1 + (hand(home) + attempt) % u64::from(pools - 1);
    let other = (u64::from(home) + step) as u32 % pools;
    let lead = u64::from(sga.layout.buffers_per_pool()) / LEAD_MAX;
    match hand(home) > hand(other) + lead {
        true => other,
        false => home,
    }
}

/// Result of examining one buffer.
enum Look {
    /// The caller owns the buffer.
    Taken,
    /// A process uses it or used it recently.
    InUse,
    /// It is unused, but its content is not in the data file yet.
    Dirty,
}

/// Takes a buffer that is not in use, was not used recently, and whose content is in the data file.
fn try_take(sga: &Sga<'_>, buffer: u32, waits: &mut WaitClock) -> Look {
    let header = &sga.headers[buffer as usize];
    if header.pins.load(Ordering::Relaxed) != 0 {
        return Look::InUse;
    }
    let usage = header.usage.load(Ordering::Relaxed);
    if usage > 0 {
        header.usage.store(usage - 1, Ordering::Relaxed);
        return Look::InUse;
    }
    if header.dirty.load(Ordering::Relaxed) != 0 {
        return Look::Dirty;
    }
    let id = header.block_id.load(Ordering::Relaxed);
    if id == NO_BLOCK {
        return match claim_free(header) {
            true => Look::Taken,
            false => Look::InUse,
        };
    }
    let bucket = sga.bucket_of(BlockId(id));
    bucket.latch.acquire(|sleep| waits.bucket_latch(sleep));
    let is_there = header.block_id.load(Ordering::Relaxed) == id;
    let look = match is_there && pin_unused(header) {
        false => Look::InUse,
        // Only a process that pins a buffer changes `dirty`, and no other process pins it now.
        true if header.dirty.load(Ordering::Relaxed) != 0 => {
            header.pins.fetch_sub(1, Ordering::Release);
            Look::Dirty
        }
        true => {
            unlink(sga, BlockId(id), buffer);
            header.block_id.store(NO_BLOCK, Ordering::Relaxed);
            Look::Taken
        }
    };
    bucket.latch.release();
    look
}

/// Takes a buffer that was free a moment ago.
fn claim_free(header: &BufferHeader) -> bool {
    if !pin_unused(header) {
        return false;
    }
    if header.block_id.load(Ordering::Relaxed) == NO_BLOCK {
        return true;
    }
    // Another session filled it in the meantime; it is pinned like any other.
    header.pins.fetch_sub(1, Ordering::Release);
    false
}

fn pin_unused(header: &BufferHeader) -> bool {
    // Acquire: the last user's accesses to the content happen before those that follow.
    let pinned = header
        .pins
        .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
    pinned.is_ok()
}

/// Removes a buffer from its bucket's chain. Call it with the bucket's latch held.
fn unlink(sga: &Sga<'_>, id: BlockId, buffer: u32) {
    let next = sga.headers[buffer as usize].next.load(Ordering::Relaxed);
    let mut link = &sga.bucket_of(id).first;
    loop {
        let found = link.load(Ordering::Relaxed);
        assert!(
            found != NONE,
            "a buffer with a block is in its bucket's chain"
        );
        if found == buffer {
            link.store(next, Ordering::Relaxed);
            return;
        }
        link = &sga.headers[found as usize].next;
    }
}

/// Releases the caller's pin of a buffer.
pub(crate) fn give_back(sga: &Sga<'_>, buffer: u32) {
    sga.headers[buffer as usize]
        .pins
        .fetch_sub(1, Ordering::Release);
}
