//! Follows a cycle, taking each address from the previous load: the cost of one access that waits
//! for the one before it or, with several chains, of accesses that overlap.

use crate::cycle::{Cycle, Link};
use crate::timer::Timer;

/// The maximum number of chains followed at once. More chains than a core has outstanding misses in
/// its first-level cache (12 on Skylake, 24 on Zen 4) would show nothing new, and more than 16
/// pointers do not fit in the registers of x86-64.
pub(crate) const CHAINS_MAX: usize = 16;

/// Accesses per block. Counting in blocks makes the cost of the loop around them negligible.
pub(crate) const BLOCK_ACCESSES: usize = 32;

/// Untimed accesses before the windows when no lap is needed because every line visited is visited
/// for the first time.
pub(crate) const ACCESSES_UNTIMED: u64 = 20_000;

/// One timed window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChaseWindow {
    /// Accesses of all chains together.
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
}

impl<'c, 'm> Chase<'c, 'm> {
    /// Creates a chase along the cycle, with as many chains as it was built for.
    pub(crate) fn new(cycle: &'c Cycle<'m>) -> Self {
        assert!(cycle.starts().len() <= CHAINS_MAX, "at most 16 chains");
        Chase {
            cycle,
            at: cycle.starts().to_vec(),
        }
    }

    /// Follows at least `accesses` links in total, untimed.
    #[cfg(test)]
    pub(crate) fn go(&mut self, accesses: u64) {
        let blocks = self.blocks(accesses);
        follow_all(&mut self.at, blocks);
    }

    /// Follows at least `accesses` links in total and times them.
    pub(crate) fn time(&mut self, accesses: u64, timer: &Timer) -> ChaseWindow {
        let blocks = self.blocks(accesses);
        let begin = timer.now();
        follow_all(&mut self.at, blocks);
        let end = timer.now();
        ChaseWindow {
            accesses: blocks * (BLOCK_ACCESSES * self.at.len()) as u64,
            elapsed_ns: timer.ns_between(begin, end),
        }
    }

    fn blocks(&self, accesses: u64) -> u64 {
        accesses.div_ceil((BLOCK_ACCESSES * self.at.len()) as u64)
    }

    /// Returns the positions of the chains as one number: the same on every machine for the same
    /// cycle and number of accesses.
    pub(crate) fn checksum(&self) -> u64 {
        let offsets = self.at.iter().map(|at| self.cycle.offset_bytes(*at) as u64);
        offsets.fold(0, |sum, offset| sum.rotate_left(7) ^ offset)
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
    use super::{BLOCK_ACCESSES, CHAINS_MAX, Chase};
    use crate::cache_line::tests::AlignedWords;
    use crate::cycle::{Cycle, CycleOrder};
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
        let mut memory = AlignedWords::zeroed(16 << 10);
        let cycle = Cycle::build(memory.words_mut(), order(1));
        let mut chase = Chase::new(&cycle);
        let before = chase.checksum();
        chase.go(cycle.lines() as u64);
        assert_eq!(chase.checksum(), before);
        chase.go(BLOCK_ACCESSES as u64);
        assert_ne!(chase.checksum(), before);
    }

    #[test]
    fn any_number_of_chains_visits_what_one_would() {
        let timer = Timer::for_tests();
        for chains in 1..=CHAINS_MAX {
            let mut memory = AlignedWords::zeroed(64 << 10);
            let cycle = Cycle::build(memory.words_mut(), order(chains));
            let mut chase = Chase::new(&cycle);
            let window = chase.time(1, &timer);
            assert_eq!(window.accesses, (BLOCK_ACCESSES * chains) as u64);
            assert!(window.ns_per_access() > 0.0);
            for (at, start) in chase.at.iter().zip(cycle.starts()) {
                let mut expected = *start;
                for _ in 0..BLOCK_ACCESSES {
                    // SAFETY: links point to links of the cycle.
                    expected = unsafe { *expected }.0;
                }
                assert_eq!(*at, expected);
            }
        }
    }

    #[test]
    fn the_checksum_depends_on_the_seed_alone() {
        let checksum = || {
            let mut memory = AlignedWords::zeroed(16 << 10);
            let cycle = Cycle::build(memory.words_mut(), order(3));
            let mut chase = Chase::new(&cycle);
            chase.go(1000);
            chase.checksum()
        };
        assert_eq!(checksum(), checksum());
    }
}
