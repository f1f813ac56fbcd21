//! `numalab fleet`: its subcommands.

use clap::{Args, Subcommand};

use crate::commands::fleet::compare;
use crate::failure::Failure;

/// Options of `numalab fleet`.
#[derive(Debug, Args)]
pub(crate) struct FleetArguments {
    /// What to do.
    #[command(subcommand)]
    command: FleetCommand,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
enum FleetCommand {
    /// Show which machines differ from those that should be equal.
    ///
    /// Has one fewer memory modules, other nodes (SNC, NPS), another firmware or kernel, other
    /// settings, fewer huge pages, or is it slower? Compares what the newest runs of each host say:
    /// of `doctor --keep`, `latency`, `bandwidth` and experiments, pushed to one store.
    #[command(after_help = "Example: numalab fleet compare --store postgresql://numalab@db/fleet")]
    Compare(compare::CompareArguments),
}

/// Executes the subcommand.
pub(crate) fn run(arguments: &FleetArguments) -> Result<(), Failure> {
    match &arguments.command {
        FleetCommand::Compare(arguments) => compare::run(arguments),
    }
}
