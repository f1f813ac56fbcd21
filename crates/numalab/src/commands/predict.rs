//! `numalab predict`: what placements could give a running target, at most, without touching it.

use std::path::PathBuf;

use clap::Args;
use judgement::doctor::DoctorInput;
use judgement::plan::{Wish, predict};
use linux::proc_stat;
use model::Topology;
use model::exit::ExitCode;
use placement::TargetPlacement;
use report::Fields;
use residency::Options;

use crate::arguments::values::target_of;
use crate::capture::MachineRoot;
use crate::commands::predict_dose::{self, DoseArguments};
use crate::failure::Failure;
use crate::measuring::machine;
use crate::measuring::measured_memory::take_measured;
use crate::output;

/// Options of `numalab predict`.
#[derive(Debug, Args)]
pub(crate) struct PredictArguments {
    /// PID, process name, postgres:DATADIR, mysql:DATADIR, redis:PORT, valkey:PORT,
    /// oracle:SID, cgroup:/PATH or unit:NAME.
    pub target: String,
    /// Placement to predict, as for `numalab try`: a destination of memory as for `numalab move`,
    /// cpus:0-3, nodes:0,1, two of them as in nodes:1+near-cpus, or current. May be repeated
    /// [default: those that the doctor's plan chooses from].
    #[arg(long, value_name = "PLACEMENT")]
    pub to: Vec<TargetPlacement>,
    /// Leave private memory where it is, as `numalab move --shared`.
    #[arg(long, requires = "to")]
    pub shared: bool,
    /// Read a captured machine: a directory with a copy of its /sys and /proc, or an archive
    /// written by `numalab capture`.
    #[arg(long, value_name = "DIR|FILE.tar.zst")]
    pub root: Option<PathBuf>,
    /// Doses of moved pages.
    #[command(flatten)]
    pub dose: DoseArguments,
    /// Print JSON (numalab.predict/1, with --dose numalab.dose/1).
    #[arg(long)]
    pub json: bool,
}

/// Looks at the target, and shows what placements could give it.
pub(crate) fn run(arguments: &PredictArguments) -> Result<(), Failure> {
    let machine = MachineRoot::at(arguments.root.as_deref())?;
    let root = machine.root();
    let target = target_of(root, &arguments.target)?;
    let topology = match root.is_live() {
        true => machine::live_topology()?,
        false => topology::read(root)?,
    };
    let wishes: Vec<Wish> = arguments
        .to
        .iter()
        .map(|placement| wish(placement, &topology, arguments.shared))
        .collect::<Result<_, _>>()?;
    if arguments.dose.dose {
        let target = (root, arguments.target.as_str(), &target);
        return predict_dose::run(&arguments.dose, arguments.json, target, &topology, &wishes);
    }
    let residency = residency::inspect(root, &target, &topology, &Options::default())?;
    let gaps = residency.gaps.clone();
    let pids: Vec<u32> = residency.processes.iter().map(|it| it.pid).collect();
    let mut input = DoctorInput::read(root, topology, Some(residency))?;
    if root.is_live() {
        take_measured(&mut input);
    }
    let mut prediction = predict(&input, &wishes).map_err(|why| {
        let has_ended = pids.iter().all(|pid| proc_stat::read(root, *pid).is_err());
        let code = match has_ended {
            true => ExitCode::WorkloadFailed,
            false => ExitCode::Usage,
        };
        Failure::new(code, format!("cannot predict for {target}: {why}"))
            .advise("`numalab inspect` shows what is known of its memory")
    })?;
    prediction.target.clone_from(&arguments.target);
    prediction.notes = gaps;
    let has_others = input.topology.memory_nodes().len() > 1;
    if prediction.distances_by.is_none() && root.is_live() && has_others {
        let note = "once `numalab latency` has measured latencies, this goes by them instead";
        prediction.notes.push(note.to_owned());
    }
    match arguments.json {
        true => output::json(&prediction.document()),
        false => output::data(&report::predict_text(&prediction, &output::text_options())),
    }
}

fn wish(
    placement: &TargetPlacement,
    topology: &Topology,
    is_shared_only: bool,
) -> Result<Wish, Failure> {
    if placement.quota.is_some() {
        let message = format!("{placement}: what a quota gives follows from no figure of memory");
        return Err(Failure::new(ExitCode::Usage, message)
            .advise(format!("numalab try TARGET --to {placement} measures it")));
    }
    Ok(Wish {
        name: placement.to_string(),
        cpus: placement.cpus_on(topology)?,
        is_shared_only: is_shared_only && placement.memory.is_some(),
        memory: placement.memory.clone(),
    })
}
