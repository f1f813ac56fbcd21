//! A difference of known size: after its logical reads a session does extra work that depends on
//! them, for a given share of the time that they took. So it does 1 / (1 + share) of what it would
//! do otherwise, whatever the machine is and whoever disturbs it; what is done too much or too
//! little after one statement is made up for after the next.
//!
//! Time in which the session did not run (another session had the CPU, or the hypervisor had it)
//! counts neither as reads nor as extra work. If it counted, a session that resumes would first
//! spend its share of the interruption, so that the next interruption would fall into reads more
//! often than into extra work: with three sessions on two CPUs 20 % came out as 24 %.

use std::hint::black_box;

use linux::clock::monotonic_ns;

/// Dependent steps between two looks at the clock: some 100 ns, four times what a look costs.
const STEPS: u32 = 64;
/// What lies between two looks at the clock at most, unless the session was interrupted, ns.
const LOOK_NS_MAX: u64 = 10_000;
/// Statements that take so many times the mean were interrupted.
const TIMES_MEAN_MAX: f64 = 4.0;
/// Statements of which the mean is taken: each moves it by one part in so many.
const STATEMENTS_OF_MEAN: f64 = 64.0;

/// The extra work of one session.
#[derive(Debug)]
pub(crate) struct Handicap {
    /// Of the time of the reads, 0 to 1; 0 is none.
    share: f64,
    /// Time that is still to be spent, ns; negative when too much was.
    owed_ns: f64,
    /// What the last statements took, without interruptions, ns; 0 before the first.
    mean_ns: f64,
    state: u64,
}

impl Handicap {
    /// Extra work for so many hundredths of the time.
    pub(crate) fn of_percent(percent: f64) -> Self {
        Handicap {
            share: percent / 100.0,
            owed_ns: 0.0,
            mean_ns: 0.0,
            state: 1,
        }
    }

    /// Spends what is owed after reads that took `ns`, ended at `now_ns` and came to `result`.
    /// Answers what the clock says then: what the looks at it take counts as spent, too.
    #[inline]
    pub(crate) fn after(&mut self, now_ns: u64, ns: u64, result: u64) -> u64 {
        if self.share > 0.0 {
            self.owed_ns += self.uninterrupted_ns(ns) * self.share;
            return self.spend(now_ns, result);
        }
        now_ns
    }

    /// The time of a statement, or the mean where it was interrupted.
    fn uninterrupted_ns(&mut self, ns: u64) -> f64 {
        let ns = ns as f64;
        if self.mean_ns == 0.0 {
            self.mean_ns = ns;
        }
        let most_ns = self.mean_ns * TIMES_MEAN_MAX;
        let worked_ns = if ns > most_ns { self.mean_ns } else { ns };
        // Statements that are longer from now on become the mean, too.
        self.mean_ns += (ns.min(most_ns) - self.mean_ns) / STATEMENTS_OF_MEAN;
        worked_ns
    }

    fn spend(&mut self, begun_ns: u64, result: u64) -> u64 {
        self.state ^= result;
        let mut now_ns = begun_ns;
        while self.owed_ns > 0.0 {
            for _ in 0..STEPS {
                // Each waits for the one before (Knuth, "The Art of Computer Programming",
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
        // A tenth of 100 ms at least, for interruptions come on top; what was spent too much is
        // less than a look.
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
        // Statements that have become longer for good are soon believed.
        let believed = (0..200).any(|_| handicap.uninterrupted_ns(1_000_000) == 1_000_000.0);
        assert!(believed, "{handicap:?}");
    }
}
