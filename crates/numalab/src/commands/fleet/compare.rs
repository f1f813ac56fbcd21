//! `numalab fleet compare`: which machines differ from those that should be equal.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use fleet::{Figure, FleetMachine, GroupBy, Racks};
use model::FleetComparison;
use model::exit::ExitCode;
use report::Fields;
use store::{Store, StoredMachine};

use crate::failure::Failure;
use crate::files::named_store::StoreArguments;
use crate::files::requested_files;
use crate::output;

/// Options of `numalab fleet compare`.
#[derive(Debug, Args)]
pub(super) struct CompareArguments {
    /// What machines that should be equal have in common. Machines of different models are never
    /// compared.
    #[arg(long, value_name = "KEY", value_enum, default_value = "model")]
    group_by: Key,
    /// The racks: a file with a line HOST,RACK for each host [default: the name of the host without
    /// its last number].
    #[arg(long, value_name = "FILE")]
    racks: Option<PathBuf>,
    /// Show every difference, not only what fits on a screen.
    #[arg(long, conflicts_with = "json")]
    full: bool,
    /// Exit with code 7 if a machine is not as most of its group.
    #[arg(long)]
    fail_on_difference: bool,
    /// Also write a page with the differences and the matrices of all machines.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The store.
    #[command(flatten)]
    store: StoreArguments,
    /// Print JSON (numalab.fleet-comparison/1).
    #[arg(long)]
    json: bool,
}

/// Enough for a line for each of 100,000 hosts.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// What machines have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Key {
    /// Model and number of processors.
    Model,
    /// The same, and the rack.
    Rack,
}

/// Compares the machines of a store.
pub(super) fn run(arguments: &CompareArguments) -> Result<(), Failure> {
    let by = group_by(arguments)?;
    requested_files::check_writable(arguments.html.as_ref())?;
    let machines = machines(arguments)?;
    let comparison = fleet::compare(&machines, &by);
    drop(machines);
    match arguments.json {
        true => output::json(&comparison.document())?,
        false => output::data(&report::fleet_comparison_text(
            &comparison,
            arguments.full,
            &output::text_options(),
        ))?,
    }
    if let Some(path) = &arguments.html {
        requested_files::write_result(path, &page::fleet_page(&comparison))?;
    }
    match arguments.fail_on_difference && differ(&comparison) {
        true => Err(Failure::new(
            ExitCode::ComparisonBelow,
            report::fleet_answer(&comparison),
        )),
        false => Ok(()),
    }
}

fn group_by(arguments: &CompareArguments) -> Result<GroupBy, Failure> {
    match (arguments.group_by, &arguments.racks) {
        (Key::Model, None) => Ok(GroupBy::Model),
        (Key::Rack, None) => Ok(GroupBy::Rack(Racks::ByName)),
        (Key::Rack, Some(file)) => racks(file).map(GroupBy::Rack),
        (Key::Model, Some(_)) => {
            let message = "--racks says nothing about models";
            Err(Failure::new(ExitCode::Usage, message).advise("add --group-by rack"))
        }
    }
}

fn racks(file: &Path) -> Result<Racks, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| {
        let message = format!("cannot read the racks in {}: {error}", file.display());
        Failure::new(ExitCode::Usage, message)
    };
    let bytes = observed::read_named(file, FILE_BYTES_MAX).map_err(|error| unreadable(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable(&"not valid UTF-8"))?;
    Racks::parse(&text).map_err(|error| unreadable(&error))
}

/// The machines of the store, each reduced to what is compared as soon as it was read.
fn machines(arguments: &CompareArguments) -> Result<Vec<FleetMachine>, Failure> {
    let store = Store::open_existing(arguments.store.place()?)?;
    let mut machines = Vec::new();
    store.machines(|stored| {
        machines.push(machine(&stored));
        Ok(())
    })?;
    if machines.is_empty() {
        let message = "no run in the store knows its machine";
        return Err(Failure::new(ExitCode::Usage, message).advise(
            "on each machine: `numalab doctor --keep`, then `numalab push --all --to URL`",
        ));
    }
    Ok(machines)
}

fn machine(stored: &StoredMachine) -> FleetMachine {
    let (run, started_at) = (stored.run.clone(), stored.started_at.clone());
    let mut machine = FleetMachine::new(run, started_at, &stored.machine, stored.kept.as_ref());
    for measured in &stored.measured {
        let figures = measured.cases.iter().filter_map(|(case, values)| {
            let (experiment, run) = (&measured.experiment, &measured.run);
            Figure::new(experiment, case, measured.metric, run, values)
        });
        machine.figures.extend(figures);
    }
    machine
}

fn differ(comparison: &FleetComparison) -> bool {
    let mut groups = comparison.groups.iter();
    groups.any(|group| !group.findings.is_empty())
}
