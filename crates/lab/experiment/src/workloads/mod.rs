//! Adapters between the runner and the measured engines: the only modules that know both.

mod alternation;
mod command;
mod command_launch;
mod command_server;
mod connected;
mod engines;
mod guarded;
mod instance;
mod instance_launch;
mod instance_validity;
mod kernel_plans;
mod kernels;
mod member;
mod moving;
mod plateau;
mod printed_figure;
mod printed_lines;
mod printed_number;
mod printed_table;
mod printed_unit;
mod quiet_blocks;
mod rhythm;
mod server;
mod simulated;
mod trial_groups;

pub use self::server::ServerWorkload;
pub use command::CommandWorkload;
pub use command_launch::{CommandOrder, guard, place_and_execute};
pub use connected::{ConnectedWorkload, connected_plan};
pub use engines::Engines;
pub use instance::{HeldProcesses, Hold, InstanceWorkload};
pub use kernels::KernelWorkload;
pub(crate) use moving::destination;
#[cfg(test)]
pub(crate) use quiet_blocks::quiet_blocks;
pub use simulated::{Behaviour, Outlier, Simulated};
