//! A difference of known size: after its logical reads a session does extra work that depends on
//! them, for a given share of the time that they took. So it does 1 / (1 + share) of what it would
//! do otherwise, whatever the machine is and whoever disturbs it; what is done too much or too
//! little after one statement is made up for after the next.

use std::hint::black_box;

use linux::clock::monotonic_ns;

/// Dependent steps between two looks at the clock: some 100 ns, four times what a look costs.
const STEPS: u32 = 64;

/// The extra work of one session.
#[derive(Debug)]
pub struct Handicap {
    /// Of the time of the reads, 0 to 1; 0 is none.
    share: f64,
    /// Time that is still to be spent, ns; negative when too much was.
    owed_ns: f64,
    state: u64,
}

impl Handicap {
    /// Extra work for so many hundredths of the time.
    pub fn of_percent(percent: f64) -> Self {
        Handicap {
            share: percent / 100.0,
            owed_ns: 0.0,
            state: 1,
        }
    }

    /// Spends what is owed after reads that took `ns`, ended at `now_ns` and came to `result`.
    /// Answers what the clock says then: what the looks at it take counts as spent, too.
    #[inline]
    pub fn after(&mut self, now_ns: u64, ns: u64, result: u64) -> u64 {
        if self.share > 0.0 {
            self.owed_ns += ns as f64 * self.share;
            return self.spend(now_ns, result);
        }
        now_ns
    }

    fn spend(&mut self, begun_ns: u64, result: u64) -> u64 {
        self.state ^= result;
        let mut now_ns = begun_ns;
        let mut spent_ns = 0.0;
        while spent_ns < self.owed_ns {
            for _ in 0..STEPS {
                // Each waits for the one before (Knuth, "The Art of Computer Programming",
                // volume 2, 3.3.4, line 26: a multiplier of a linear congruential generator).
                self.state = self.state.wrapping_mul(6_364_136_223_846_793_005) | 1;
            }
            self.state = black_box(self.state);
            now_ns = monotonic_ns();
            spent_ns = (now_ns - begun_ns) as f64;
        }
        self.owed_ns -= spent_ns;
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
        // A tenth of 100 ms; what was spent too much last is owed to nobody.
        assert!(spent_ns >= 0.999e7, "{spent_ns}");
        assert!(
            (spent_ns + handicap.owed_ns - 1e7).abs() < 1e6,
            "{spent_ns} {handicap:?}"
        );
        let mut none = Handicap::of_percent(0.0);
        assert_eq!(none.after(9, u64::MAX, 7), 9);
        assert_eq!(none.state, 1);
    }
}
