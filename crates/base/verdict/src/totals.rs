//! The sums over the sessions of the valid trials of a case.

use model::{Case, LatencySummary, TimeModel};

use crate::standing::Standing;

/// Totals of the sessions of the valid trials of a case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CaseTotals {
    /// Number of trials in the totals: valid ones with sessions.
    pub trials: usize,
    /// Seconds of all windows.
    pub window_s: f64,
    /// Statements.
    pub statements: f64,
    /// Logical reads.
    pub logical_reads: f64,
    /// Blocks read from a data file.
    pub physical_reads: f64,
    /// Rows updated, and blocks written to a data file; `None` where nothing is updated.
    pub updates: Option<(f64, f64)>,
    /// Where the time went.
    pub time: TimeModel,
    /// Statement latency of each trial.
    pub latencies: Vec<LatencySummary>,
}

impl CaseTotals {
    /// Adds up the valid trials.
    pub fn of(case: &Case) -> Self {
        let mut totals = CaseTotals::default();
        let valid = case
            .trials
            .iter()
            .filter(|trial| Standing::of(trial).is_valid());
        let measured = valid.filter_map(|trial| trial.measured.as_ref());
        let with_sessions = measured.filter_map(|it| Some((it.window_s?, it.sessions.as_ref()?)));
        for (window_s, sessions) in with_sessions {
            totals.trials += 1;
            totals.window_s += window_s;
            // Counts of one run stay far below 2^53; `f64` cannot overflow on a hostile file.
            totals.statements += sessions.statements as f64;
            totals.logical_reads += sessions.logical_reads as f64;
            totals.physical_reads += sessions.physical_reads as f64;
            if let Some(updates) = &sessions.updates {
                let (rows, blocks) = totals.updates.get_or_insert_default();
                *rows += updates.rows_updated as f64;
                *blocks += updates.blocks_written as f64;
            }
            totals.time.db_time_s += sessions.time.db_time_s;
            totals.time.db_cpu_s += sessions.time.db_cpu_s;
            totals.time.cpu_wait_s += sessions.time.cpu_wait_s;
            if let Some(kernel_s) = sessions.time.kernel_cpu_s {
                *totals.time.kernel_cpu_s.get_or_insert(0.0) += kernel_s;
            }
            totals.latencies.push(sessions.statement_latency);
            for (event, wait) in &sessions.time.waits {
                let sum = totals.time.waits.entry(event.clone()).or_default();
                sum.count = sum.count.saturating_add(wait.count);
                sum.total_s += wait.total_s;
            }
        }
        totals
    }
}
