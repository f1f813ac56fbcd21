//! Follows a cycle, taking each address from the previous load: the cost of one access that waits
//! for the one before it. An untimed lap follows several chains of the cycle at once, so that it
//! does not wait for each access.

use crate::cycle::{Cycle, Link};
use crate::timer::Timer;

/// The maximum number of chains followed at once. More chains than a core has outstanding misses in
/// its first-level cache (12 on Skylake, 24 on Zen 4) gain nothing, and more than 16 pointers do
/// not fit in the registers of x86-64.
pub(crate) const CHAINS_MAX: usize = 16;

/// Accesses per block. Counting in blocks makes the cost of the loop around them negligible.
pub(crate) const BLOCK_ACCESSES: usize = 32;

/// Untimed accesses before the windows when no lap is needed because every line visited is visited
/// for the first time.
pub(crate) const ACCESSES_UNTIMED: u64 = 20_000;

/// Accesses of one chain after a lap of all chains, which show how many of them a window has: 0.5
/// ms at 130 ns.
pub(crate) const ACCESSES_TO_CALIBRATE: u64 = 4096;

/// Untimed accesses of a chain whose turn it is: they bring the pages of its group back into the
/// TLB. All 64 ([`crate::cycle::TLB_GROUP_PAGES`]) are visited after 304 random accesses on average
/// (the coupon collector's problem).
const ACCESSES_OF_TURN: u64 = 512;

/// One timed window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChaseWindow {
    /// Number of accesses.
    pub accesses: u64,
    /// How long all of them took.
    pub elapsed_ns: f64,
}

impl ChaseWindow {
    /// Returns the latency of one access, in ns.
    pub fn ns_per_access(&self) -> f64 {
        self.elapsed_ns / self.accesses as f64
    }
}

/// A chase in progress: each call continues where the previous one ended.
#[derive(Debug)]
pub(crate) struct Chase<'c, 'm> {
    cycle: &'c Cycle<'m>,
    at: Vec<*const Link>,
    /// Number of chains that take turns.
    taking_turns: usize,
    /// Number of windows so far, which says whose turn it is.
    windows: usize,
}

impl<'c, 'm> Chase<'c, 'm> {
    /// Creates a chase along the cycle, with as many chains as it was built for.
    pub(crate) fn new(cycle: &'c Cycle<'m>) -> Self {
        assert!(cycle.starts().len() <= CHAINS_MAX, "at most 16 chains");
        Chase {
            cycle,
            at: cycle.starts().to_vec(),
            taking_turns: 1,
            windows: 0,
        }
    }

    /// Follows at least `accesses` links of one chain, each of which waits for the one before it,
    /// and times them.
    ///
    /// It is the first chain until all have gone round once. Then the chains of the first pass take
    /// turns: what follows their starts is what was visited first in that lap, and no two of their
    /// lines are neighbours that a prefetcher fetches together. Each turn begins with
    /// [`ACCESSES_OF_TURN`] links untimed.
    pub(crate) fn time(&mut self, accesses: u64, timer: &Timer) -> ChaseWindow {
        let chain = self.windows % self.taking_turns;
        let at = &mut self.at[chain..=chain];
        self.windows += 1;
        if self.taking_turns > 1 {
            follow_all(at, ACCESSES_OF_TURN / BLOCK_ACCESSES as u64);
        }
        time(at, accesses, timer)
    }

    /// Follows all chains at once until together they have visited every line, and times that.
    pub(crate) fn lap(&mut self, timer: &Timer) -> ChaseWindow {
        self.taking_turns = self.cycle.chains_of_a_pass();
        self.windows = 0;
        time(&mut self.at, self.cycle.lines() as u64, timer)
    }

    /// Returns the positions of the chains as one number: the same on every machine for the same
    /// cycle and number of accesses.
    pub(crate) fn checksum(&self) -> u64 {
        let offsets = self.at.iter().map(|at| self.cycle.offset_bytes(*at) as u64);
        offsets.fold(0, |sum, offset| sum.rotate_left(7) ^ offset)
    }
}

/// Follows these chains at once for at least `accesses` links in total, and times them.
fn time(at: &mut [*const Link], accesses: u64, timer: &Timer) -> ChaseWindow {
    let of_block = (BLOCK_ACCESSES * at.len()) as u64;
    let blocks = accesses.div_ceil(of_block);
    let begin = timer.now();
    follow_all(at, blocks);
    let end = timer.now();
    ChaseWindow {
        accesses: blocks * of_block,
        elapsed_ns: timer.ns_between(begin, end),
    }
}

/// Follows every chain for `blocks` blocks.
fn follow_all(at: &mut [*const Link], blocks: u64) {
    /// One arm per number of chains, so that each is compiled separately.
    macro_rules! by_count {
        ($($count:literal)*) => {
            match at.len() {
                $($count => {
                    let mut own = [std::ptr::null(); $count];
                    own.copy_from_slice(at);
                    // SAFETY: the chains are links of a cycle that the caller borrows.
                    let end = unsafe { follow::<$count>(own, blocks) };
                    at.copy_from_slice(&end);
                })*
                count => unreachable!("a chase has 1 to 16 chains, not {count}"),
            }
        };
    }
    by_count!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
}

/// Follows `N` chains for `blocks` blocks.
///
/// # Safety
/// Each element of `at` is a link of a cycle whose memory does not change during the call.
#[inline(never)]
unsafe fn follow<const N: usize>(mut at: [*const Link; N], blocks: u64) -> [*const Link; N] {
    for _ in 0..blocks {
        for _ in 0..BLOCK_ACCESSES {
            for chain in &mut at {
                // SAFETY: a link of a cycle leads to a link of the cycle.
                *chain = unsafe { **chain }.0;
            }
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::{ACCESSES_OF_TURN, BLOCK_ACCESSES, CHAINS_MAX, Chase};
    use crate::cache_line::tests::AlignedWords;
    use crate::cycle::{Cycle, CycleOrder, Link};
    use crate::timer::Timer;

    fn order(chains: usize) -> CycleOrder {
        CycleOrder {
            group_bytes: None,
            seed: 11,
            stream: 2,
            chains,
        }
    }

    #[test]
    fn a_lap_ends_where_it_began() {
        let timer = Timer::for_tests();
        let mut memory = AlignedWords::zeroed(16 << 10);
        let cycle = Cycle::build(memory.words_mut(), order(1));
        let mut chase = Chase::new(&cycle);
        let before = chase.checksum();
        assert_eq!(chase.lap(&timer).accesses, cycle.lines() as u64);
        assert_eq!(chase.checksum(), before);
        chase.time(1, &timer);
        assert_ne!(chase.checksum(), before);
    }

    /// Returns where a chain is after some links.
    fn after(start: *const Link, links: usize) -> *const Link {
        // SAFETY: links point to links of the cycle.
        (0..links).fold(start, |at, _| unsafe { *at }.0)
    }

    #[test]
    fn a_lap_of_any_number_of_chains_visits_what_one_would() {
        let timer = Timer::for_tests();
        for chains in 1..=CHAINS_MAX {
            let mut memory = AlignedWords::zeroed(64 << 10);
            let cycle = Cycle::build(memory.words_mut(), order(chains));
            let mut chase = Chase::new(&cycle);
            let lap = chase.lap(&timer);
            assert!(lap.accesses >= cycle.lines() as u64 && lap.ns_per_access() > 0.0);
            for (at, start) in chase.at.iter().zip(cycle.starts()) {
                assert_eq!(*at, after(*start, lap.accesses as usize / chains));
            }
        }
    }

    #[test]
    fn after_a_lap_the_chains_of_the_first_pass_take_turns() {
        let timer = Timer::for_tests();
        let mut memory = AlignedWords::zeroed(64 << 10);
        let cycle = Cycle::build(memory.words_mut(), order(CHAINS_MAX));
        let mut chase = Chase::new(&cycle);
        chase.time(1, &timer);
        assert_eq!(chase.at[1..], cycle.starts()[1..]);
        chase.lap(&timer);
        let starts = chase.at.clone();
        for windows in 1..=8 {
            assert_eq!(chase.time(1, &timer).accesses, BLOCK_ACCESSES as u64);
            for (chain, (at, start)) in chase.at.iter().zip(&starts).enumerate() {
                let turns = if chain < 4 {
                    (windows + 3 - chain) / 4
                } else {
                    0
                };
                let links = turns * (ACCESSES_OF_TURN as usize + BLOCK_ACCESSES);
                assert_eq!(*at, after(*start, links));
            }
        }
    }

    #[test]
    fn the_checksum_depends_on_the_seed_alone() {
        let checksum = || {
            let mut memory = AlignedWords::zeroed(16 << 10);
            let cycle = Cycle::build(memory.words_mut(), order(3));
            let mut chase = Chase::new(&cycle);
            chase.time(1000, &Timer::for_tests());
            chase.checksum()
        };
        assert_eq!(checksum(), checksum());
    }
}
