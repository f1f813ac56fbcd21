//! `numalab fleet`: its subcommands.

use clap::{Args, Subcommand};

use crate::commands::fleet::{compare, feed, plan, status};
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
    /// Plan many machines for Slurm, Kubernetes or Ansible to measure.
    ///
    /// How do forty or four thousand machines get measured without a scheduler of our own? Each
    /// measures itself and sends its runs to one store; nothing is started here.
    #[command(after_help = "Example: numalab fleet plan doctor latency --for slurm \
        --hosts n[01-40] --to postgresql://numalab@db/fleet --out october")]
    Plan(plan::PlanArguments),
    /// Show which machines of a plan are done, and which are missing.
    ///
    /// Which machine failed, and why; which sent only a part, which never answered? Exits with
    /// code 7 unless all is there.
    #[command(after_help = "Example: numalab fleet status october")]
    Status(status::StatusArguments),
    /// Print figures of this machine for a scheduler or an inventory.
    ///
    /// What should Kubernetes, Slurm or Ansible know of its nodes and of what was measured between
    /// them? docs/fleet.md says which figure goes where.
    #[command(after_help = "Example: numalab fleet feed --for nfd \
        --to /etc/kubernetes/node-feature-discovery/features.d/numalab")]
    Feed(feed::FeedArguments),
}

/// Executes the subcommand.
pub(crate) fn run(arguments: &FleetArguments) -> Result<(), Failure> {
    match &arguments.command {
        FleetCommand::Compare(arguments) => compare::run(arguments),
        FleetCommand::Plan(arguments) => plan::run(arguments),
        FleetCommand::Status(arguments) => status::run(arguments),
        FleetCommand::Feed(arguments) => feed::run(arguments),
    }
}
