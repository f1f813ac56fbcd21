//! Replacement: which buffer is given up for a block that is not in the cache. A clock for each
//! pool, balanced between the pools.
//!
//! Who owns a buffer: a buffer in the directory belongs to everyone who pins it, and only under
//! its bucket's latch is it pinned for the first time or taken out. A buffer out of the directory
//! has block id [`NO_BLOCK`] and belongs to the one who raised its pins from 0 to 1.

use std::sync::atomic::Ordering;

use crate::layout::{BlockId, BufferHeader, NO_BLOCK, NONE};
use crate::sga::Sga;
use crate::wait_clock::WaitClock;

/// Looks of the clock that a buffer survives at most, however often it is used between them.
/// PostgreSQL has had the same for decades (`BM_MAX_USAGE_COUNT`).
pub const USAGE_MAX: u32 = 5;

/// How far the clock of one pool may run ahead of that of another, as a share of a turn. A session
/// takes buffers of its own pool up to there, then of the others: confined to its own pool, one
/// session of PostgreSQL's trials could use a part of the cache only, and lost up to 27 %.
const LEAD_MAX: u64 = 8;

/// A buffer to be filled, taken out of the directory: owned, pinned once, without a block. `None`
/// when every buffer is pinned.
pub fn take(sga: &Sga<'_>, home_pool: u32, waits: &mut WaitClock) -> Option<u32> {
    let turns = u64::from(USAGE_MAX + 2) * u64::from(sga.layout.buffers);
    for attempt in 0..turns {
        let pool = choose_pool(sga, home_pool, attempt);
        let buffers = sga.layout.buffers_per_pool();
        let hand = sga.pools[pool as usize]
            .hand
            .0
            .fetch_add(1, Ordering::Relaxed);
        let buffer = pool * buffers + (hand % u64::from(buffers)) as u32;
        if try_take(sga, buffer, waits) {
            return Some(buffer);
        }
    }
    None
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

/// Takes a buffer if nobody uses it and nobody did lately.
fn try_take(sga: &Sga<'_>, buffer: u32, waits: &mut WaitClock) -> bool {
    let header = &sga.headers[buffer as usize];
    if header.pins.load(Ordering::Relaxed) != 0 {
        return false;
    }
    let usage = header.usage.load(Ordering::Relaxed);
    if usage > 0 {
        header.usage.store(usage - 1, Ordering::Relaxed);
        return false;
    }
    let id = header.block_id.load(Ordering::Relaxed);
    if id == NO_BLOCK {
        return claim_free(header);
    }
    let bucket = sga.bucket_of(BlockId(id));
    bucket.latch.acquire(|sleep| waits.bucket_latch(sleep));
    let taken = header.block_id.load(Ordering::Relaxed) == id && pin_unused(header);
    if taken {
        unlink(sga, BlockId(id), buffer);
        header.block_id.store(NO_BLOCK, Ordering::Relaxed);
    }
    bucket.latch.release();
    taken
}

/// Takes a buffer that was free a moment ago.
fn claim_free(header: &BufferHeader) -> bool {
    if !pin_unused(header) {
        return false;
    }
    if header.block_id.load(Ordering::Relaxed) == NO_BLOCK {
        return true;
    }
    // Somebody filled it in between, and it is pinned like any other.
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
pub fn give_back(sga: &Sga<'_>, buffer: u32) {
    sga.headers[buffer as usize]
        .pins
        .fetch_sub(1, Ordering::Release);
}
