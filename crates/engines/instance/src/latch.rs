//! The latch: one word of shared memory that protects a hash bucket or the cage.
//!
//! Three states and a futex: a release without sleepers makes no system call (Ulrich Drepper,
//! "Futexes Are Tricky", 2011, the second mutex).

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
const HELD: u32 = 1;
const HELD_WITH_SLEEPERS: u32 = 2;

/// Number of polls of a held latch before the process sleeps. Oracle's `_spin_count` has had the
/// same value for decades.
const SPINS: u32 = 2000;

/// A latch in shared memory. A zero word is a free latch.
#[repr(transparent)]
pub(crate) struct Latch(AtomicU32);

impl Latch {
    /// Acquires the latch if it is free.
    #[inline]
    pub(crate) fn try_acquire(&self) -> bool {
        self.0
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Acquires the latch. Calls `sleep` for every sleep, passing the function that sleeps.
    #[inline]
    pub(crate) fn acquire(&self, sleep: impl FnMut(&dyn Fn())) {
        if !self.try_acquire() {
            self.acquire_held(sleep);
        }
    }

    #[cold]
    fn acquire_held(&self, mut sleep: impl FnMut(&dyn Fn())) {
        for _ in 0..SPINS {
            if self.0.load(Ordering::Relaxed) == FREE && self.try_acquire() {
                return;
            }
            spin_loop();
        }
        // From here on the word claims that there are sleepers, even if there turn out to be none:
        // one wake too many is harmless, one too few is not.
        while self.0.swap(HELD_WITH_SLEEPERS, Ordering::Acquire) != FREE {
            sleep(&|| linux::futex::wait(&self.0, HELD_WITH_SLEEPERS, None));
        }
    }

    /// Releases the latch; only its holder may call this.
    #[inline]
    pub(crate) fn release(&self) {
        if self.0.swap(FREE, Ordering::Release) == HELD_WITH_SLEEPERS {
            linux::futex::wake(&self.0, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    use super::Latch;

    #[test]
    fn only_one_holds_it_and_nobody_sleeps_for_ever() {
        let latch = Latch(AtomicU32::new(0));
        let counter = AtomicU64::new(0);
        let sleeps = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        latch.acquire(|sleep| {
                            sleeps.fetch_add(1, Ordering::Relaxed);
                            sleep();
                        });
                        // Deliberately not an atomic increment: two holders would lose one.
                        let value = counter.load(Ordering::Relaxed);
                        counter.store(value + 1, Ordering::Relaxed);
                        latch.release();
                    }
                });
            }
        });
        assert_eq!(counter.load(Ordering::Relaxed), 160_000);
    }
}
