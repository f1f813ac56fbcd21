//! The server's own counters of logical reads, and their difference from numalab's.

use model::counted;

/// Maximum relative difference of a server's counter.
const DISAGREEMENT_MAX: f64 = 0.01;

/// The counters of a server at a time when no session runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Its counters of logical reads, each from another source.
    pub reads: Vec<CounterReading>,
    /// Blocks of the load's tables that were read from outside the cache.
    pub from_outside: u64,
}

/// One counter of logical reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterReading {
    /// Its name in the server, such as that of the view.
    pub source: &'static str,
    /// What it counted so far.
    pub count: u64,
}

/// One counter of the server compared with numalab's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterCheck {
    /// The source of the counter.
    pub source: &'static str,
    /// Logical reads counted by the server.
    pub hits: u64,
    /// Those counted by numalab: statements times logical reads per statement.
    pub expected: f64,
}

impl Counters {
    /// Compares the increase since `before` with numalab's count.
    pub(crate) fn checks(&self, before: &Self, expected: f64) -> Vec<CounterCheck> {
        let pairs = self.reads.iter().filter_map(|after| {
            let before = before.reads.iter().find(|it| it.source == after.source)?;
            Some((after, before))
        });
        let checks = pairs.map(|(after, before)| CounterCheck {
            source: after.source,
            hits: after.count.saturating_sub(before.count),
            expected,
        });
        checks.collect()
    }

    /// Returns the blocks of the load's tables that were read from outside the cache since
    /// `before`.
    pub(crate) fn outside_since(&self, before: &Self) -> u64 {
        self.from_outside.saturating_sub(before.from_outside)
    }
}

impl CounterCheck {
    /// Returns the relative difference of the server's counter from numalab's.
    fn disagreement(&self) -> f64 {
        (self.hits as f64 - self.expected) / self.expected.max(1.0)
    }

    /// Returns why a trial with this counter is invalid, if it is.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let disagreement = self.disagreement();
        (disagreement.abs() > DISAGREEMENT_MAX || !disagreement.is_finite()).then(|| {
            format!(
                "{} counted {}, statements times hits per statement are {:.0}: {:+.2} %",
                self.source,
                counted(self.hits, "hit"),
                self.expected,
                disagreement * 100.0
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CounterCheck, CounterReading, Counters};

    fn check(hits: u64, expected: f64, contradicts: bool) {
        let check = CounterCheck {
            source: "pg_stat_database",
            hits,
            expected,
        };
        assert_eq!(
            check.contradiction().is_some(),
            contradicts,
            "{hits} {expected}"
        );
    }

    #[test]
    fn one_percent_is_the_limit() {
        check(1_000_000, 1_000_000.0, false);
        check(1_009_000, 1_000_000.0, false);
        check(1_011_000, 1_000_000.0, true);
        check(989_000, 1_000_000.0, true);
        check(500, 0.0, true);
        check(1, f64::NAN, true);
    }

    #[test]
    fn the_message_has_both_counts() {
        let check = CounterCheck {
            source: "pg_stat_io",
            hits: 50,
            expected: 100.0,
        };
        let text = check.contradiction().unwrap();
        assert!(
            text.contains("pg_stat_io counted 50 hits") && text.contains("-50.00 %"),
            "{text}"
        );
    }

    #[test]
    fn what_was_added_is_compared() {
        let reading = |source, count| CounterReading { source, count };
        let before = Counters {
            reads: vec![reading("a", 10)],
            from_outside: 3,
        };
        let after = Counters {
            reads: vec![reading("b", 3), reading("a", 109)],
            from_outside: 5,
        };
        let checks = after.checks(&before, 99.0);
        assert_eq!((checks.len(), checks[0].hits), (1, 99));
        assert_eq!(after.outside_since(&before), 2);
    }
}
