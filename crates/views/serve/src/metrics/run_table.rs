//! The metrics of runs: one of each quantity that runs measure, named after its unit, which is a
//! base unit (Prometheus, "Metric and label naming"), and the ends of its interval.

use super::metric::{Kind, Metric};

/// A quantity that runs measure.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunMetric {
    /// Its metric in runs.
    pub of: model::Metric,
    /// The unit of runs, in the unit of the name.
    pub unit: f64,
    /// Median, lower and upper end of its interval.
    pub metrics: [Metric; 3],
}

macro_rules! run_metrics {
    ($($of:ident $unit:literal $name:literal [$($label:literal),*] $what:literal;)*) => {
        /// A row for every metric of runs.
        pub(super) const RUN_METRICS: &[RunMetric] = &[$(RunMetric {
            of: model::Metric::$of,
            unit: $unit,
            metrics: [
                Metric {
                    name: concat!("numalab_run_median_", $name),
                    kind: Kind::Gauge,
                    labels: &["experiment", "case", $($label),*],
                    help: concat!($what, ": median over the valid trials of that run."),
                },
                Metric {
                    name: concat!("numalab_run_low_", $name),
                    kind: Kind::Gauge,
                    labels: &["experiment", "case", $($label),*],
                    help: "Lower end of the interval of that median.",
                },
                Metric {
                    name: concat!("numalab_run_high_", $name),
                    kind: Kind::Gauge,
                    labels: &["experiment", "case", $($label),*],
                    help: "Upper end of the interval of that median.",
                },
            ],
        }),*];
    };
}

run_metrics! {
    LogicalReadsPerSecond 1.0 "logical_reads_per_second" []
        "Blocks found and pinned in a buffer cache per second, by all sessions";
    NsPerAccess 1e-9 "access_seconds" []
        "Time of one memory access that depends on the previous one";
    BytesPerSecond 1.0 "bytes_per_second" []
        "Bytes that programs read and write per second, by all threads";
    NsPerStore 1e-9 "store_seconds" []
        "Time of one store to memory";
    RowsPerSecond 1.0 "rows_per_second" []
        "Rows that are sorted and joined per second, by all sessions";
    StepsPerSecond 1.0 "steps_per_second" []
        "Steps of a computation that touches no memory per second, by all sessions";
    Seconds 1.0 "seconds" []
        "Time that the work of a trial takes";
    Gain 1.0 "gain" ["unit"]
        "Number that the work itself reports, of which more is better, in the unit that the \
         experiment names";
    Cost 1.0 "cost" ["unit"]
        "Number that the work itself reports, of which less is better, in the unit that the \
         experiment names";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_of_runs_has_one_row_in_a_base_unit() {
        for facts in model::Metric::TABLE {
            let rows = RUN_METRICS.iter().filter(|row| row.of == facts.metric);
            let rows: Vec<_> = rows.collect();
            assert_eq!(rows.len(), 1, "{}", facts.name);
            assert_eq!(
                rows[0].unit == 1e-9,
                facts.is_ns_per_piece,
                "{}",
                facts.name
            );
        }
    }
}
