//! Metrics in the text format of Prometheus: one table, and a pure function from what was seen to
//! text.

mod exposition;
mod figures;
mod metric;
mod run_figures;
mod run_table;
mod table;

pub use figures::{Expected, Exporter, Observed, metrics_text};
pub use metric::{Kind, Metric};
pub use run_figures::{CaseFigures, RunFigures};
pub use table::{metrics, table_markdown};
