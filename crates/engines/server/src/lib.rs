//! The load on a database server, whatever the database: sessions, warm-up, window, calibration,
//! gates and results, behind the traits that a database implements. See docs/servers.md.
#![forbid(unsafe_code)]

mod cache;
mod calibration;
mod client_loop;
mod counters;
mod database;
mod error;
mod folder_rules;
mod gates;
mod launch;
mod loaded;
mod made_folder;
#[cfg(test)]
mod memory_server;
mod plan;
mod process;
mod results;
mod scratch_folder;
mod session;
mod sessions;
mod trial;
mod window;
mod work_counters;

pub use cache::{CacheMemory, CacheRange};
pub use calibration::{calibrate, sweep};
pub use client_loop::repeat;
pub use counters::{CounterCheck, CounterReading, Counters};
pub use database::{Cluster, ConnectOrder, Connected, Database, Server, Source, Version};
pub use error::Error;
pub use gates::unaccounted;
pub use launch::{LaunchOrder, ServerCommand, StopSignal, execute_server, place_and_execute};
pub use loaded::Loaded;
pub use made_folder::MadeFolder;
pub use plan::{
    CalibrationOrder, Placed, ServerPlan, TablesPlan, TrialOrder, Watch, settings_beside,
};
pub use process::ServerProcess;
pub use results::{TrialResult, Window};
pub use scratch_folder::{CHANGES, FolderMade, ScratchFolder};
pub use session::{Call, Done, Listener, Mark, Opener, Session};
pub use trial::{TrialOf, measure};
pub use work_counters::{WorkCounters, WorkDone};
