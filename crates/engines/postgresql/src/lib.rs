//! PostgreSQL: throw-away clusters under a placement, a load of logical reads, and the location of
//! the shared buffers. See docs/postgres.md for the protocol.
#![forbid(unsafe_code)]

mod buffers;
mod calibration;
mod changes;
mod cluster;
mod connected;
mod connection;
mod counters;
mod error;
mod fetched;
mod folders;
mod gates;
mod installation;
mod launch;
mod local;
mod plan;
mod prewarm;
mod programs;
mod relations;
mod results;
mod scratch_cluster;
mod server;
mod server_settings;
mod session;
mod sessions;
mod statement;
mod tables;
mod trial;
mod version;
mod window;

pub use calibration::{CalibrationOrder, calibrate};
pub use changes::CHANGES;
pub use cluster::Cluster;
pub use connected::{ConnectOrder, Connected, Source};
pub use counters::{CounterCheck, CounterSource};
pub use error::Error;
pub use gates::unaccounted;
pub use installation::{Installation, Places, find};
pub use launch::{LaunchOrder, Launcher, execute_server, place_and_execute};
pub use plan::{Placed, ServerPlan, TablesPlan, TrialOrder, Watch};
pub use relations::{RelationsOrder, relations};
pub use results::{TrialResult, Window};
pub use server_settings::server_settings;
pub use trial::run_trial;
pub use version::{Release, Version};
