//! Latency and bandwidth.

pub(crate) mod bandwidth_document;
pub(crate) mod bandwidth_text;
pub(crate) mod cells;
pub(crate) mod latency_csv;
pub(crate) mod latency_curve_text;
pub(crate) mod latency_document;
pub(crate) mod latency_figures;
pub(crate) mod latency_hwloc;
pub(crate) mod latency_text;
pub(crate) mod latency_transfers_text;
pub(crate) mod memory_plan;
