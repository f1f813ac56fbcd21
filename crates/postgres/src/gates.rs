//! Whether a trial counts, as far as the server and the scheduler tell. Pure.

use model::TimeModel;

use crate::counters::{CounterCheck, Reads};

/// The least share of DB time that must be CPU, run queue or a named wait.
const ACCOUNTED_MIN: f64 = 0.99;

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
        found
    }
}

/// Why a trial does not count whose DB time went elsewhere than to CPU, run queue and named waits.
pub fn unaccounted(time: &TimeModel) -> Option<String> {
    let share = 1.0 - time.unaccounted_s() / time.db_time_s;
    // Without DB time nothing was measured.
    (!share.is_finite() || share < ACCOUNTED_MIN).then(|| {
        format!(
            "CPU, run queue and named waits are {:.1} % of DB time, {:.0} % is the least: \
             sessions waited for something else",
            share * 100.0,
            ACCOUNTED_MIN * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use model::TimeModel;

    use super::{Gates, Reads, unaccounted};

    fn check(of_tables: u64, share: f64, expected: &[&str]) {
        let reads = Reads { of_tables, share };
        let gates = Gates { checks: &[], reads };
        let found = gates.contradictions();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn reads_from_outside_are_a_reason() {
        check(0, 0.0, &[]);
        check(0, 0.00001, &[]);
        check(3, 0.1, &["3 blocks of the tables were read"]);
        check(0, 0.001, &["hit ratio was 99.900 %"]);
    }

    #[test]
    fn one_percent_of_db_time_may_be_elsewhere() {
        let check = |db_time_s: f64, db_cpu_s: f64, expected: bool| {
            let cpu_wait_s = 1.0;
            let time = TimeModel {
                db_time_s,
                db_cpu_s,
                cpu_wait_s,
                ..TimeModel::default()
            };
            assert_eq!(unaccounted(&time).is_some(), expected, "{time:?}");
        };
        check(6.0, 4.99, false);
        check(6.0, 4.9, true);
        check(6.0, 5.1, false);
        check(0.0, 0.0, true);
    }
}
