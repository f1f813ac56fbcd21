//! What changes while one looks: nodes, pressure, processes and databases, taken at one moment as
//! cheaply as the kernel allows ([`model::Snapshot`]); rates and a forecast from several of them.
#![forbid(unsafe_code)]
