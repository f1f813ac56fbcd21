//! numalab on many machines, through the engines that people already run: files for Slurm,
//! Kubernetes and Ansible ([`Plan`]), what came of them ([`progress`]), and figures in the words of
//! schedulers ([`feed`]). Texts alone: who writes, sends or asks is above.
#![forbid(unsafe_code)]

mod ansible;
mod engine;
pub mod feed;
mod files;
mod hosts;
mod kubernetes;
mod plan;
mod progress;
mod progress_text;
mod script;
mod slurm;
mod step;

pub use engine::Engine;
pub use files::files;
pub use hosts::{HOSTS_MAX, HostsError, host_list};
pub use plan::{FORMAT, Files, Plan, PlanError};
pub use progress::{HostProgress, HostState, PlanProgress, RunOfHost, StepProgress, progress};
pub use progress_text::progress_text;
pub use step::{Step, StepError};
