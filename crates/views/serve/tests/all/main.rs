//! What the crate promises to those who read its metrics and its pages.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod dashboard;
mod metrics_figures;
mod running_server;

mod hostile_clients;
mod readers;
mod tokens;
