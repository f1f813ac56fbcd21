//! Metrics in the text format of Prometheus: one table, and a pure function from what was seen to
//! text.

mod exposition;
mod figures;
mod run_figures;
mod table;

pub use figures::{Expected, Observed, metrics_text};
pub use run_figures::{CaseFigures, RunFigures};
pub use table::{Kind, METRICS, Metric, table_markdown};
