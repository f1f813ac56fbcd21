//! Checks whether a trial counts, according to the server and the scheduler. Pure.

use model::{ServerKind, TimeModel, counted};

use crate::CounterCheck;

/// Minimum share of DB time that must be CPU, run queue or a named wait.
const ACCOUNTED_MIN: f64 = 0.99;

/// The input of the checks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Gates<'a> {
    /// The database.
    pub kind: ServerKind,
    /// The server's counters.
    pub checks: &'a [CounterCheck],
    /// Blocks of the load's tables and indexes that were read from outside the cache. Blocks of
    /// catalogs do not belong to the load.
    pub table_reads: u64,
}

impl Gates<'_> {
    /// Returns every reason why the trial does not count.
    pub(crate) fn contradictions(&self) -> Vec<String> {
        let mut found: Vec<String> = self
            .checks
            .iter()
            .filter_map(CounterCheck::contradiction)
            .collect();
        if self.table_reads > 0 {
            found.push(format!(
                "the server read {} of the tables from outside the {}",
                counted(self.table_reads, "block"),
                self.kind.cache()
            ));
        }
        found
    }
}

/// Returns why a trial does not count if its DB time is not CPU, run queue and named waits.
pub fn unaccounted(time: &TimeModel) -> Option<String> {
    let share = 1.0 - time.unaccounted_s() / time.db_time_s;
    // Without DB time nothing was measured.
    (!share.is_finite() || share < ACCOUNTED_MIN).then(|| {
        format!(
            "CPU, run queue and named waits are {:.2} % of DB time (minimum {:.0} %): sessions \
             waited for something else",
            // Rounded down: what is below the minimum never reads as the minimum.
            (share * 1e4).floor() / 100.0,
            ACCOUNTED_MIN * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use model::{ServerKind, TimeModel};

    use super::{Gates, unaccounted};

    #[test]
    fn one_block_from_outside_is_a_reason() {
        let check = |table_reads: u64, expected: &[&str]| {
            let checks = &[];
            let found = Gates {
                kind: ServerKind::named("postgres"),
                checks,
                table_reads,
            }
            .contradictions();
            assert_eq!(found, expected);
        };
        check(0, &[]);
        check(
            3,
            &["the server read 3 blocks of the tables from outside the shared buffers"],
        );
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
