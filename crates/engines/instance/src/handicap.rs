//! A difference of known size: after its logical reads a session does extra work, which depends on
//! their result, for a given share of the time that they took. It then does 1 / (1 + share) of its
//! normal work, whatever the machine and its disturbances. Too much or too little extra work after
//! one statement is compensated after the next.
//!
//! Time in which the session did not run (another session or the hypervisor had the CPU) counts
//! neither as reads nor as extra work. If it counted, a session that resumes would first spend its
//! share of the interruption, so the next interruption would hit reads more often than extra work:
//! with three sessions on two CPUs, 20 % came out as 24 %.

use std::hint::black_box;

use linux::clock::monotonic_ns;

/// Dependent steps between two clock readings: about 100 ns, four times the cost of a reading.
const STEPS: u32 = 64;
/// Maximum time between two clock readings unless the session was interrupted, ns.
const LOOK_NS_MAX: u64 = 10_000;
/// A statement that takes more than this many times the mean was interrupted.
const TIMES_MEAN_MAX: f64 = 4.0;
/// Number of statements in the moving mean: each moves it by one part in this many.
const STATEMENTS_OF_MEAN: f64 = 64.0;

/// The extra work of one session.
#[derive(Debug)]
pub(crate) struct Handicap {
    /// Share of the time of the reads, 0 to 1; 0: no extra work.
    share: f64,
    /// Time still to be spent, ns; negative if too much was spent.
    owed_ns: f64,
    /// Mean time of recent statements, without interruptions, ns; 0 before the first.
    mean_ns: f64,
    state: u64,
}

impl Handicap {
    /// Creates extra work for `percent` of the time of the reads.
    pub(crate) fn of_percent(percent: f64) -> Self {
        Handicap {
            share: percent / 100.0,
            owed_ns: 0.0,
            mean_ns: 0.0,
            state: 1,
        }
    }

    /// Spends the time owed after reads that took `ns`, ended at `now_ns` and returned `result`.
    /// Returns the clock afterwards: the cost of reading the clock counts as spent, too.
    #[inline]
    pub(crate) fn after(&mut self, now_ns: u64, ns: u64, result: u64) -> u64 {
        if self.share > 0.0 {
            self.owed_ns += self.uninterrupted_ns(ns) * self.share;
            return self.spend(now_ns, result);
        }
        now_ns
    }

    /// Returns the time of a statement, or the mean if it was interrupted.
    fn uninterrupted_ns(&mut self, ns: u64) -> f64 {
        let ns = ns as f64;
        if self.mean_ns == 0.0 {
            self.mean_ns = ns;
        }
        let most_ns = self.mean_ns * TIMES_MEAN_MAX;
        let worked_ns = if ns > most_ns { self.mean_ns } else { ns };
        // Statements that stay longer from now on shift the mean.
        self.mean_ns += (ns.min(most_ns) - self.mean_ns) / STATEMENTS_OF_MEAN;
        worked_ns
    }

    fn spend(&mut self, begun_ns: u64, result: u64) -> u64 {
        self.state ^= result;
        let mut now_ns = begun_ns;
        while self.owed_ns > 0.0 {
            for _ in 0..STEPS {
                // Each step waits for the previous one (Knuth, "The Art of Computer Programming",
                // volume 2, 3.3.4, line 26: a multiplier of a linear congruential generator).
                self.state = self.state.wrapping_mul(6_364_136_223_846_793_005) | 1;
            }
            self.state = black_box(self.state);
            let look_ns = monotonic_ns();
            if look_ns - now_ns <= LOOK_NS_MAX {
                self.owed_ns -= (look_ns - now_ns) as f64;
            }
            now_ns = look_ns;
        }
        now_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_is_the_share_of_what_reads_took() {
        let mut handicap = Handicap::of_percent(10.0);
        let begun_ns = monotonic_ns();
        let mut now_ns = begun_ns;
        for _ in 0..1000 {
            now_ns = handicap.after(now_ns, 100_000, 7);
        }
        let spent_ns = (now_ns - begun_ns) as f64;
        // At least a tenth of 100 ms, since interruptions add to it; the excess is less than one
        // reading of the clock.
        assert!(spent_ns >= 0.999e7, "{spent_ns}");
        assert!(handicap.owed_ns <= 0.0 && handicap.owed_ns >= -(LOOK_NS_MAX as f64));
        let mut none = Handicap::of_percent(0.0);
        assert_eq!(none.after(9, u64::MAX, 7), 9);
        assert_eq!(none.state, 1);
    }

    #[test]
    fn an_interruption_is_no_work() {
        let mut handicap = Handicap::of_percent(10.0);
        assert_eq!(handicap.uninterrupted_ns(20_000), 20_000.0);
        assert_eq!(handicap.uninterrupted_ns(60_000), 60_000.0);
        let mean_ns = handicap.mean_ns;
        assert_eq!(handicap.uninterrupted_ns(4_000_000), mean_ns);
        assert!(handicap.mean_ns > mean_ns && handicap.mean_ns < 1.1 * mean_ns);
        // Statements that have become longer for good are soon accepted.
        let believed = (0..200).any(|_| handicap.uninterrupted_ns(1_000_000) == 1_000_000.0);
        assert!(believed, "{handicap:?}");
    }
}
