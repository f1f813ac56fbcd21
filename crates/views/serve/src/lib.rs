//! The HTTP server of `numalab serve`, and metrics in the text format of Prometheus.
#![forbid(unsafe_code)]

mod content;
mod metrics;
mod pages;
mod server;

pub use content::{Content, Look, Problem, RUNS_MAX, RunPage};
pub use metrics::{
    CaseFigures, Expected, Exporter, Kind, Metric, Observed, RunFigures, metrics, metrics_text,
    table_markdown,
};
pub use server::{Error, Limits, Server, Settings, TOKEN_MIN, Token, routes_markdown};
