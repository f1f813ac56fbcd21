//! PostgreSQL: throw-away clusters under a placement, a load of logical reads, and where the shared
//! buffers lie. docs/postgres.md is the protocol.
#![forbid(unsafe_code)]

mod buffers;
mod calibration;
mod cluster;
mod connection;
mod counters;
mod error;
mod gates;
mod installation;
mod launch;
mod plan;
mod prewarm;
mod results;
mod server;
mod server_user;
mod session;
mod sessions;
mod statement;
mod tables;
mod trial;
mod window;

pub use calibration::{CalibrationOrder, calibrate};
pub use cluster::Cluster;
pub use counters::{CounterCheck, CounterSource, Reads};
pub use error::Error;
pub use gates::unaccounted;
pub use installation::{Installation, Places, Version, find};
pub use launch::{LaunchOrder, Launcher, execute_server, place_and_execute};
pub use plan::{Placed, ServerPlan, TablesPlan};
pub use results::{TrialResult, Window};
pub use trial::{TrialOrder, Watch, run_trial};
