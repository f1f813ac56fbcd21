//! `numalab try`: tries placements on the load that is running now, and takes everything back.

use clap::{Args, ValueEnum};
use linux::Root;
use model::exit::ExitCode;
use model::{JudgedBy, LiveMeasured, RunStatus, TriedPlacement, TryEnd, TryReport};
use residency::instances::{self, Target};
use switchback::{Asked, Error, Halt, Live, Scene, Tried, Watched};

use crate::arguments::values;
use crate::arguments::values::target_of;
use crate::changes::KINDS;
use crate::failure::Failure;
use crate::files::state_folder::StateFolder;
use crate::interrupt;
use crate::measuring::counted_work::{self, Counted, Metric, counted};
use crate::measuring::live_store::LiveStore;
use crate::measuring::machine;
use crate::output;

/// Options of `numalab try`.
#[derive(Debug, Args)]
pub(crate) struct TryArguments {
    /// PID, process name, postgres:DATADIR, mysql:DATADIR, redis:PORT, valkey:PORT,
    /// oracle:SID, cgroup:/PATH or unit:NAME.
    pub target: String,
    /// Placement to try against the current one: a destination of memory as for `numalab move`,
    /// cpus:0-3, nodes:0,1, quota:1.5, several of them as in nodes:1+near-cpus, or current. May be
    /// repeated.
    #[arg(long, value_name = "PLACEMENT", required = true)]
    pub to: Vec<Tried>,
    /// How work is counted: auto (the counters of the database), command:PROGRAM (it prints a
    /// counter), file:PATH (which holds one), or prometheus:URL#METRIC (an exporter's page has it).
    #[arg(long, value_name = "METRIC", default_value = "auto")]
    pub metric: Metric,
    /// PostgreSQL role for reading its counters [default: the owner of the data directory if run as
    /// root, else this user].
    #[arg(long, value_name = "ROLE")]
    pub pg_role: Option<String>,
    /// Judge by CPU time per unit of work (cost) or by work per second (rate) [default: by the
    /// load: rate if the target is saturated].
    #[arg(long, value_name = "FIGURE")]
    pub by: Option<By>,
    /// End after this time.
    #[arg(long = "for", value_name = "T", default_value = "20m")]
    #[arg(value_parser = values::seconds)]
    pub seconds: f64,
    /// The smallest gain that is worth it.
    #[arg(long, value_name = "PERCENT", default_value = "3%")]
    #[arg(value_parser = values::percent)]
    pub gain: f64,
    /// Seconds of a window [default: found from the load].
    #[arg(long, value_name = "S", value_parser = values::window)]
    pub window: Option<f64>,
    /// Move at most this many MiB per second, there and back.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(allow_negative_numbers = true)]
    pub mib_per_s: Option<u32>,
    /// Go back at once from a placement that is this much worse in each of 10 seconds.
    #[arg(long, value_name = "PERCENT", default_value = "10%")]
    #[arg(value_parser = values::percent)]
    pub stop_loss: f64,
    /// Leave a better placement in force, until `numalab undo`.
    #[arg(long, conflicts_with = "dry_run")]
    pub keep: bool,
    /// Show what would be moved, and how often, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Seed of the coins [default: from the clock].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// The store.
    #[command(flatten)]
    pub store: crate::files::named_store::StoreArguments,
    /// Print JSON (numalab.try/1).
    #[arg(long)]
    pub json: bool,
}

/// By which figure.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum By {
    /// CPU time of the target per unit of work.
    Cost,
    /// Work per second.
    Rate,
}

/// Tries the placements, takes everything back, and shows what they gave.
pub(crate) fn run(arguments: &TryArguments) -> Result<(), Failure> {
    let root = Root::live();
    let target = target_of(&root, &arguments.target)?;
    let topology = machine::live_topology()?;
    let mut report = planned(arguments);
    if arguments.dry_run {
        plan(&root, &target, &topology, arguments, &mut report)?;
        return show(arguments, None, &report);
    }
    // What is impossible, or not permitted, is said before the target is watched for minutes.
    for tried in &arguments.to {
        report
            .notes
            .extend(switchback::foresee(&root, &target, &topology, tried)?.notes);
    }
    report.notes.dedup();
    let counted = counted(&root, &target, &arguments.metric)?;
    let asked = asked(arguments, &counted, topology.emulated != Some(true));
    report
        .notes
        .extend(emulated(&counted, &asked).map(str::to_owned));
    let role = arguments.pg_role.clone();
    let counters = Watched::start(&report.metric, move || counted.open(role.as_deref()))?;
    report.unit = counters.unit.to_owned();
    let placements: Vec<Tried> = [Tried::default()]
        .into_iter()
        .chain(arguments.to.iter().cloned())
        .collect();
    let journal = StateFolder::from_environment()?.journal();
    let cancel = interrupt::cancel_on_signals()?;
    let scene = Scene {
        root: &root,
        topology: &topology,
        target: &target,
        placements: &placements,
        bytes_per_s: arguments.mib_per_s.map(|mib| u64::from(mib) << 20),
        journal: &journal,
        kinds: KINDS,
        is_cancelled: &|| cancel.is_cancelled(),
        tell: &|at_s, text| output::talk(&format!("{at_s:8.1} s  {text}")),
    };
    let store = store::Store::open(arguments.store.place()?)?;
    let mut live = Live::begin(scene, counters)?;
    let mut stored = LiveStore::begin(store, None, LiveMeasured::Try(report.clone()))?;
    let names = placements.iter().map(Tried::to_string).collect();
    let tried = switchback::attempt(&mut live, names, &asked, &mut report);
    let is_whole = [TryEnd::Decided, TryEnd::TimeOver].contains(&report.end);
    let keep = tried.as_ref().ok().copied().flatten();
    let keep = keep.filter(|_| arguments.keep && is_whole);
    let (log, ended) = live.finish(keep);
    report.log = log;
    let kept = keep.filter(|_| ended.is_ok());
    report.is_kept = kept.map(|number| placements[number].to_string());
    let ended = ended.map_err(not_taken_back);
    if let Err(left) = &ended {
        report.is_left = Some(left.message.clone());
    }
    let status = match &tried {
        Ok(_) => report.end.status(),
        Err(_) => RunStatus::Failed,
    };
    // Whatever becomes of the store, what was found is shown.
    let kept = stored.put(status, LiveMeasured::Try(report.clone()));
    if let Err(error) = tried {
        return Err(with_what_is_left(error.into(), ended));
    }
    show(arguments, Some(&stored.run().id), &report)?;
    kept?;
    ended.and_then(|()| conclusion(&report))
}

/// What figures of an emulated machine, or of emulated costs, mean.
fn emulated(counted: &Counted, asked: &Asked) -> Option<&'static str> {
    match (counted.has_emulated_cost(), asked.is_judged) {
        (true, _) => Some(
            "emulated cost: what a read costs is read from a table, so the figures say nothing \
             about hardware",
        ),
        (false, true) => None,
        (false, false) => {
            Some("this machine is emulated, so its figures mean nothing and no placement wins")
        }
    }
}

/// What is asked of the session, by what counts its work.
fn asked(arguments: &TryArguments, counted: &Counted, is_real: bool) -> Asked {
    Asked {
        by: arguments.by.map(|by| match by {
            By::Cost => JudgedBy::Cost,
            By::Rate => JudgedBy::Rate,
        }),
        window_s: arguments.window,
        least_window_s: counted.least_window_s(),
        stop_loss: arguments.stop_loss,
        has_quota: arguments.to.iter().any(|it| it.quota.is_some()),
        is_judged: is_real || counted.has_emulated_cost(),
    }
}

fn planned(arguments: &TryArguments) -> TryReport {
    TryReport {
        target: arguments.target.clone(),
        metric: arguments.metric.to_string(),
        seed: arguments
            .seed
            .unwrap_or_else(|| jiff::Timestamp::now().as_nanosecond() as u64),
        gain: arguments.gain,
        seconds_max: arguments.seconds,
        ..TryReport::default()
    }
}

/// Completes a plan.
fn plan(
    root: &Root,
    target: &Target,
    topology: &model::Topology,
    arguments: &TryArguments,
    report: &mut TryReport,
) -> Result<(), Failure> {
    report.window_s = arguments.window.unwrap_or(counted_work::LATE_WINDOW_S);
    report.lead_in_s = switchback::lead_in_s(report.window_s);
    let processes = instances::find(root, target)?.len();
    for tried in &arguments.to {
        let switchback::Foreseen { bytes, notes } =
            switchback::foresee(root, target, topology, tried)?;
        report.notes.extend(notes);
        let rate = relocation::own_rate(root, topology, processes).filter(|_| bytes > 0);
        report.placements.push(TriedPlacement {
            placement: tried.to_string(),
            bytes_to_move: Some(bytes),
            move_s: rate.map(|rate| (bytes as f64 / rate.most, bytes as f64 / rate.least)),
            ..TriedPlacement::default()
        });
    }
    Ok(())
}

fn show(arguments: &TryArguments, run: Option<&str>, report: &TryReport) -> Result<(), Failure> {
    match arguments.json {
        true => output::json(&report::try_document(run, report))?,
        false => output::data(&report::try_text(report, &output::text_options()))?,
    }
    if let Some(run) = run {
        output::talk(&format!("stored as {run}: numalab show {run}"));
    }
    Ok(())
}

fn conclusion(report: &TryReport) -> Result<(), Failure> {
    let because = report.end_because.clone().unwrap_or_default();
    match report.end {
        TryEnd::Planned | TryEnd::Decided | TryEnd::TimeOver => Ok(()),
        TryEnd::NoCounter => Err(Failure::new(
            ExitCode::WorkloadFailed,
            format!("the counter of work failed three times in a row: {because}"),
        )),
        TryEnd::Vetoed => Err(Failure::new(ExitCode::PlacementNotHonoured, because)),
        TryEnd::TargetEnded => Err(Failure::new(ExitCode::WorkloadFailed, because)),
        TryEnd::Interrupted => {
            let message = "interrupted; everything is as before";
            Err(Failure::new(ExitCode::Interrupted, message))
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let fail = |code, text: String| Failure::new(code, text);
        match error {
            Error::Read(error) => error.into(),
            Error::Instance(error) => error.into(),
            Error::Journal(error) => error.into(),
            Error::Placement(error) if error.is_permission() => Failure::from(error)
                .advise("CAP_SYS_NICE is needed to set the CPUs of other users' threads"),
            Error::Placement(error) => error.into(),
            Error::Move(error) => error.into(),
            Error::NotHonoured { .. } => fail(ExitCode::PlacementNotHonoured, error.to_string()),
            Error::Impossible { .. } => fail(ExitCode::Usage, error.to_string())
                .advise("`numalab topology` shows the nodes and CPUs"),
            Error::Counter { .. } => fail(ExitCode::WorkloadFailed, error.to_string())
                .advise("or name another counter: --metric command:PROGRAM, --metric file:PATH"),
            Error::NoLoad(text) => fail(ExitCode::WorkloadFailed, text),
        }
    }
}

/// What could not be taken back, or kept, at the end.
pub(crate) fn not_taken_back(halt: Halt) -> Failure {
    let failure = match halt {
        Halt::Failed(error) => error.into(),
        Halt::End(_, because) => Failure::new(ExitCode::PlacementNotHonoured, because),
    };
    failure.advise(
        "`numalab undo --list` shows what is still in force, `numalab undo` takes it back, with \
         --force also what another process has changed since",
    )
}

/// What failed first, and what of it could not be taken back.
pub(crate) fn with_what_is_left(failure: Failure, ended: Result<(), Failure>) -> Failure {
    match ended {
        Ok(()) => failure,
        Err(left) => Failure {
            message: format!("{}; then: {}", failure.message, left.message),
            ..left
        },
    }
}
