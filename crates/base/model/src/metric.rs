//! The metrics by which a run compares its cases: one table.

use serde::{Deserialize, Serialize};

/// Figures that can be compared: the ratio of any two is a number.
pub const FIGURES: std::ops::RangeInclusive<f64> = 1e-150..=1e150;

/// The metric by which a run compares its cases. [`crate::Measured::value`] is in its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Metric {
    /// Blocks found and pinned in a buffer cache, by all sessions.
    #[serde(rename = "logical_reads_per_s")]
    LogicalReadsPerSecond,
    /// Time of one dependent memory access.
    #[serde(rename = "ns_per_access")]
    NsPerAccess,
    /// Bytes that programs read and write, by all threads.
    #[serde(rename = "bytes_per_s")]
    BytesPerSecond,
    /// Time of one store to memory.
    #[serde(rename = "ns_per_store")]
    NsPerStore,
    /// Rows that are sorted and joined, by all sessions.
    #[serde(rename = "rows_per_s")]
    RowsPerSecond,
    /// Steps of a computation that touches no memory, by all sessions.
    #[serde(rename = "steps_per_s")]
    StepsPerSecond,
    /// Time that the work of a trial takes.
    #[serde(rename = "seconds")]
    Seconds,
    /// A number that the work itself reports; more is better.
    #[serde(rename = "gain")]
    Gain,
    /// A number that the work itself reports; less is better.
    #[serde(rename = "cost")]
    Cost,
}

/// Which of two values is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// The higher one.
    More,
    /// The lower one.
    Less,
}

/// One row of the table of metrics.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricFacts {
    /// The metric.
    pub metric: Metric,
    /// Its name in documents, which includes its unit.
    pub name: &'static str,
    /// The unit shown to people.
    pub shown_unit: &'static str,
    /// The shown unit in the metric's own units.
    pub shown_unit_is: f64,
    /// The verb in sentences about a case: "does", "takes".
    pub verb: &'static str,
    /// The shown unit in a sentence; may be empty.
    pub unit_in_words: &'static str,
    /// Which of two values is the better one.
    pub better: Better,
    /// Whether it is the time of one piece of work in ns, instead of pieces of work per second or
    /// what the work itself reports.
    pub is_ns_per_piece: bool,
    /// Its meaning in words.
    pub meaning: &'static str,
}

impl Metric {
    /// Every metric.
    pub const TABLE: [MetricFacts; 9] = [
        MetricFacts {
            metric: Metric::LogicalReadsPerSecond,
            name: "logical_reads_per_s",
            shown_unit: "logical reads/s",
            shown_unit_is: 1.0,
            verb: "does",
            unit_in_words: "logical reads per second",
            better: Better::More,
            is_ns_per_piece: false,
            meaning: "blocks found and pinned in a buffer cache, by all sessions together",
        },
        MetricFacts {
            metric: Metric::NsPerAccess,
            name: "ns_per_access",
            shown_unit: "ns",
            shown_unit_is: 1.0,
            verb: "takes",
            unit_in_words: "ns per access",
            better: Better::Less,
            is_ns_per_piece: true,
            meaning: "time of one memory access that depends on the previous one",
        },
        MetricFacts {
            metric: Metric::BytesPerSecond,
            name: "bytes_per_s",
            shown_unit: "GB/s",
            shown_unit_is: 1e9,
            verb: "moves",
            unit_in_words: "GB per second",
            better: Better::More,
            is_ns_per_piece: false,
            meaning: "bytes that programs read and write, by all threads together",
        },
        MetricFacts {
            metric: Metric::NsPerStore,
            name: "ns_per_store",
            shown_unit: "ns",
            shown_unit_is: 1.0,
            verb: "takes",
            unit_in_words: "ns per store",
            better: Better::Less,
            is_ns_per_piece: true,
            meaning: "time of one store to memory",
        },
        MetricFacts {
            metric: Metric::RowsPerSecond,
            name: "rows_per_s",
            shown_unit: "rows/s",
            shown_unit_is: 1.0,
            verb: "does",
            unit_in_words: "rows per second",
            better: Better::More,
            is_ns_per_piece: false,
            meaning: "rows that are sorted and joined, by all sessions together",
        },
        MetricFacts {
            metric: Metric::StepsPerSecond,
            name: "steps_per_s",
            shown_unit: "M steps/s",
            shown_unit_is: 1e6,
            verb: "does",
            unit_in_words: "million steps per second",
            better: Better::More,
            is_ns_per_piece: false,
            meaning: "steps of a computation that touches no memory, by all sessions together",
        },
        MetricFacts {
            metric: Metric::Seconds,
            name: "seconds",
            shown_unit: "s",
            shown_unit_is: 1.0,
            verb: "takes",
            unit_in_words: "seconds",
            better: Better::Less,
            is_ns_per_piece: false,
            meaning: "time that the work of a trial takes",
        },
        MetricFacts {
            metric: Metric::Gain,
            name: "gain",
            shown_unit: "reported",
            shown_unit_is: 1.0,
            verb: "reports",
            unit_in_words: "",
            better: Better::More,
            is_ns_per_piece: false,
            meaning: "a number reported by the work itself; more is better",
        },
        MetricFacts {
            metric: Metric::Cost,
            name: "cost",
            shown_unit: "reported",
            shown_unit_is: 1.0,
            verb: "reports",
            unit_in_words: "",
            better: Better::Less,
            is_ns_per_piece: false,
            meaning: "a number reported by the work itself; less is better",
        },
    ];

    /// The row of this metric.
    pub fn facts(self) -> &'static MetricFacts {
        let row = Self::TABLE.iter().find(|row| row.metric == self);
        row.expect("the table has a row for every variant")
    }

    /// The name in documents.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The metric of this name.
    pub fn named(name: &str) -> Option<Self> {
        let row = Self::TABLE.iter().find(|row| row.name == name);
        row.map(|row| row.metric)
    }

    /// Which of two values is the better one.
    pub fn better(self) -> Better {
        self.facts().better
    }
}

#[cfg(test)]
mod tests {
    use super::Metric;

    #[test]
    fn every_metric_has_a_row_and_a_name_of_its_own() {
        for row in Metric::TABLE {
            assert_eq!(row.metric.facts(), &row);
            assert_eq!(Metric::named(row.name), Some(row.metric));
            let json = serde_json::to_string(&row.metric).unwrap();
            assert_eq!(json, format!("\"{}\"", row.name));
        }
        assert_eq!(Metric::named("speed"), None);
    }
}
