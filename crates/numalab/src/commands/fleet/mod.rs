//! `numalab fleet`: the same questions of many machines.

mod command;
mod compare;
mod feed;
mod plan;
mod status;

pub(crate) use command::{FleetArguments, run};
