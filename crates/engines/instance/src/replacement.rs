//! Replacement: which buffer is given up for a block that is not in the cache. A clock for each
//! pool, balanced between the pools.
//!
//! Who owns a buffer: a buffer in the directory belongs to everyone who pins it, and only under
//! its bucket's latch is it pinned for the first time or taken out. A buffer out of the directory
//! has block id [`NO_BLOCK`] and belongs to the one who raised its pins from 0 to 1. A dirty buffer
//! stays in the directory until its content is in the data file.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::layout::{BlockId, BufferHeader, NO_BLOCK, NONE, WaitEvent};
use crate::sga::Sga;
use crate::wait_clock::WaitClock;

/// Looks of the clock that a buffer survives at most, however often it is used between them.
/// PostgreSQL has had the same for decades (`BM_MAX_USAGE_COUNT`).
pub(crate) const USAGE_MAX: u32 = 5;

/// How far the clock of one pool may run ahead of that of another, as a share of a turn. A session
/// takes buffers of its own pool up to there, then of the others: confined to its own pool, one
/// session of PostgreSQL's trials could use a part of the cache only, and lost up to 27 %.
const LEAD_MAX: u64 = 8;

/// The share of a pool's buffers that may be found dirty before a session stops looking and waits
/// for the database writer.
const DIRTY_SEEN_SHARE: u32 = 8;

/// How long a session sleeps before it looks again, though no writer has woken it.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Sleeps in vain before a session gives up: a minute.
const SLEEPS_MAX: u32 = 600;

/// How long a session sleeps that found every buffer in use: sessions and writers pin for
/// microseconds, and for as long as they are kept from a CPU.
const LOOK_SOON: Duration = Duration::from_millis(1);

/// Looks in a row that find every buffer in use before a session gives up: a second.
const LOOKS_IN_USE_MAX: u32 = 1000;

/// A buffer to be filled, taken out of the directory: owned, pinned once, without a block. Waits
/// for the database writers while all that could be taken is dirty. `None` when every buffer stays
/// in use, or the writers do not write.
pub(crate) fn take(sga: &Sga<'_>, home_pool: u32, waits: &mut WaitClock) -> Option<u32> {
    let cleaned = &sga.control.writing.0.cleaned;
    let (mut sleeps, mut in_use) = (0, 0);
    while sleeps < SLEEPS_MAX && in_use < LOOKS_IN_USE_MAX {
        // Before the look: what becomes clean after it ends the sleep.
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

/// What the clocks came to.
enum Found {
    /// This buffer was taken.
    Taken(u32),
    /// So many dirty ones that their writers were asked to write.
    Dirty,
    /// Every buffer that was looked at is pinned, or was used since.
    InUse,
}

/// Lets the clocks go on until a buffer is taken, or there is none to be had.
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

/// Asks the writer of a pool to write, unless it has been asked.
fn ask_writer(sga: &Sga<'_>, pool: u32) {
    let wanted = &sga.pools[pool as usize].writing.0.wanted;
    if wanted.load(Ordering::Relaxed) == 0 {
        wanted.store(1, Ordering::Release);
        linux::futex::wake(wanted, 1);
    }
}

/// The home pool, unless its clock is ahead of another's.
fn choose_pool(sga: &Sga<'_>, home: u32, attempt: u64) -> u32 {
    let pools = sga.layout.pools;
    if pools == 1 {
        return 0;
    }
    let hand = |pool: u32| sga.pools[pool as usize].hand.0.load(Ordering::Relaxed);
    // Another pool for each buffer that is needed, and each look in vain: all take part.
    let step = 1 + (hand(home) + attempt) % u64::from(pools - 1);
    let other = (u64::from(home) + step) as u32 % pools;
    let lead = u64::from(sga.layout.buffers_per_pool()) / LEAD_MAX;
    match hand(home) > hand(other) + lead {
        true => other,
        false => home,
    }
}

/// What one look of a clock came to.
enum Look {
    /// The buffer is the caller's.
    Taken,
    /// A session uses it, or did lately.
    InUse,
    /// Only the data file's lagging behind keeps it from being taken.
    Dirty,
}

/// Takes a buffer if nobody uses it, nobody did lately, and the data file has its content.
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
        // Only who pins a buffer changes whether it is dirty, and now nobody else does.
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
    // Another session filled it in between, and it is pinned like any other.
    header.pins.fetch_sub(1, Ordering::Release);
    false
}

fn pin_unused(header: &BufferHeader) -> bool {
    // Acquire: what its last user did with the content comes before what is done with it now.
    let pinned = header
        .pins
        .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
    pinned.is_ok()
}

/// Takes a buffer out of its bucket's chain. Called with the bucket's latch held.
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

/// Gives back a buffer that was taken and is not needed after all.
pub(crate) fn give_back(sga: &Sga<'_>, buffer: u32) {
    sga.headers[buffer as usize]
        .pins
        .fetch_sub(1, Ordering::Release);
}
