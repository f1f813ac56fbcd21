//! `numalab fleet`: the same questions of many machines.

mod command;
mod compare;

pub(crate) use command::{FleetArguments, run};
