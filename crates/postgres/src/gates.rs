//! Whether a trial counts, as far as the server and the scheduler tell. Pure.

use crate::counters::{CounterCheck, Reads};

/// The least share of DB time that must be CPU, run queue or a named wait.
pub(crate) const ACCOUNTED_MIN: f64 = 0.99;

/// The largest share of block accesses that may go outside the shared buffers: a hit ratio below
/// this is not 100.00 %.
const READ_SHARE_MAX: f64 = 0.00005;

/// What the gates look at.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Gates<'a> {
    /// The server's counts.
    pub checks: &'a [CounterCheck],
    /// Blocks read from outside the shared buffers.
    pub reads: Reads,
    /// DB time of all sessions.
    pub db_time_s: f64,
    /// CPU, run queue and named waits of all sessions; `None` where they cannot be read.
    pub accounted_s: Option<f64>,
}

impl Gates<'_> {
    /// Every reason why the trial does not count.
    pub fn contradictions(&self) -> Vec<String> {
        let mut found: Vec<String> = self
            .checks
            .iter()
            .filter_map(CounterCheck::contradiction)
            .collect();
        let Reads { of_tables, share } = self.reads;
        if of_tables > 0 {
            found.push(format!(
                "{of_tables} blocks of the tables were read from outside the shared buffers"
            ));
        } else if share > READ_SHARE_MAX {
            let ratio = 100.0 - share * 100.0;
            found.push(format!("the hit ratio was {ratio:.3} %, not 100.00 %"));
        }
        if let Some(accounted_s) = self.accounted_s {
            let share = accounted_s / self.db_time_s;
            // Not a number means that nothing was measured.
            if share.is_nan() || share < ACCOUNTED_MIN {
                found.push(format!(
                    "CPU and run queue are {:.1} % of DB time, {:.0} % is the least: sessions \
                     waited for something else",
                    share * 100.0,
                    ACCOUNTED_MIN * 100.0
                ));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::{Gates, Reads};

    fn check(of_tables: u64, share: f64, accounted_s: Option<f64>, expected: &[&str]) {
        let reads = Reads { of_tables, share };
        let gates = Gates {
            checks: &[],
            reads,
            db_time_s: 6.0,
            accounted_s,
        };
        let found = gates.contradictions();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn each_gate_gives_its_reason() {
        check(0, 0.0, Some(5.99), &[]);
        check(0, 0.00001, None, &[]);
        check(3, 0.1, Some(6.01), &["3 blocks of the tables were read"]);
        check(0, 0.001, Some(6.01), &["hit ratio was 99.900 %"]);
        check(0, 0.0, Some(5.9), &["98.3 % of DB time"]);
        check(1, 0.0, Some(0.0), &["1 blocks", "0.0 % of DB time"]);
    }
}
