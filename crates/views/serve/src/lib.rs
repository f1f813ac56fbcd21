//! The HTTP server of `numalab serve`, and metrics in the text format of Prometheus.
#![forbid(unsafe_code)]
