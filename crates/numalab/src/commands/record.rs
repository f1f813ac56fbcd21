//! `numalab record`: records the load of a running target as it is.

use clap::Args;
use linux::{Root, proc_cpu_times};
use model::exit::ExitCode;
use model::{JudgedBy, LiveMeasured, LiveRun, RecordEnd, RecordReport, RunStatus};
use residency::instances::Target;
use store::Store;
use switchback::{Beside, Live, Scene, Tried, Watched};

use crate::arguments::values;
use crate::arguments::values::target_of;
use crate::changes::KINDS;
use crate::failure::Failure;
use crate::files::state_folder::StateFolder;
use crate::interrupt;
use crate::measuring::counted_work::{Metric, counted};
use crate::measuring::live_store::LiveStore;
use crate::measuring::machine;
use crate::measuring::recorded_target;
use crate::output;

/// Options of `numalab record`.
#[derive(Debug, Args)]
pub(crate) struct RecordArguments {
    /// PID, process name, postgres:DATADIR, mysql:DATADIR, redis:PORT, valkey:PORT,
    /// oracle:SID, cgroup:/PATH or unit:NAME.
    pub target: String,
    /// Record for this time.
    #[arg(long = "for", value_name = "T", default_value = "10m")]
    #[arg(value_parser = values::seconds)]
    pub seconds: f64,
    /// Name of the record, for `numalab compare`: a letter, then letters, digits, `.`, `_` or `-`.
    #[arg(long, value_name = "LABEL", value_parser = label)]
    pub label: Option<String>,
    /// Add one more record to those with this label: then compare takes each as one value.
    #[arg(long, requires = "label")]
    pub add: bool,
    /// How work is counted: auto (the counters of the database), command:PROGRAM (it prints a
    /// counter), file:PATH (which holds one), or prometheus:URL#METRIC (an exporter's page has it).
    #[arg(long, value_name = "METRIC", default_value = "auto")]
    pub metric: Metric,
    /// PostgreSQL role for reading its counters [default: the owner of the data directory if run as
    /// root, else this user].
    #[arg(long, value_name = "ROLE")]
    pub pg_role: Option<String>,
    /// The store.
    #[command(flatten)]
    pub store: crate::files::named_store::StoreArguments,
    /// Print JSON (numalab.record/1).
    #[arg(long)]
    pub json: bool,
}

/// Characters of a label.
const LABEL_MAX: usize = 40;
/// Windows of a record, and the shortest and the longest, in seconds.
const WINDOWS: f64 = 120.0;
const WINDOW_S: (f64, f64) = (1.0, 30.0);

/// Parses a label, which can be no id of a run.
fn label(text: &str) -> Result<String, String> {
    let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let begins = text.starts_with(|letter: char| letter.is_ascii_alphabetic());
    match begins && text.len() <= LABEL_MAX && text.chars().all(is_fit) && text != "last" {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "expected a letter, then up to {} letters, digits, '.', '_' or '-', and not \"last\"",
            LABEL_MAX - 1
        )),
    }
}

/// Records the target, stores that, and shows it.
pub(crate) fn run(arguments: &RecordArguments) -> Result<(), Failure> {
    check_label(arguments)?;
    let root = Root::live();
    let target = target_of(&root, &arguments.target)?;
    let topology = machine::live_topology()?;
    let counted = counted(&root, &target, &arguments.metric)?;
    let mut report = begun(arguments, &root, &target, &topology);
    report.has_emulated_cost = counted.has_emulated_cost();
    let role = arguments.pg_role.clone();
    let counters = Watched::start(&report.metric, move || counted.open(role.as_deref()))?;
    report.unit = counters.unit.to_owned();
    report.mix_unit = counters.mix.map(str::to_owned);
    let journal = StateFolder::from_environment()?.journal();
    let cancel = interrupt::cancel_on_signals()?;
    let scene = Scene {
        root: &root,
        topology: &topology,
        target: &target,
        placements: &[Tried::default()],
        bytes_per_s: None,
        journal: &journal,
        kinds: KINDS,
        is_cancelled: &|| cancel.is_cancelled(),
        tell: &|at_s, text| output::talk(&format!("{at_s:8.1} s  {text}")),
    };
    let store = Store::open(arguments.store.place()?)?;
    let mut live = Live::begin(scene, counters)?;
    let label = arguments.label.as_deref();
    let mut stored = LiveStore::begin(store, label, LiveMeasured::Record(report.clone()))?;
    output::talk(&format!(
        "recording {} for {:.0} s as {}; Ctrl-C ends it and keeps what there is",
        report.target,
        report.seconds_asked,
        stored.run().id
    ));
    let before = live.load()?;
    let mut kept = Ok(());
    let beside = Beside {
        machine_busy_s: &|| machine_busy_s(&root),
        keep: &mut |so_far| {
            // The end of the record is stored, too: what fails now may work then.
            let _ = stored.put(RunStatus::Unfinished, LiveMeasured::Record(so_far.clone()));
        },
    };
    let recorded = switchback::record(&mut live, &mut report, beside);
    if let Ok(after) = live.load() {
        (report.judged_by, report.judged_because) = switchback::judge_by(&before, &after);
    }
    if report.end != RecordEnd::TargetEnded {
        report.finish = Some(recorded_target::look(&root, &target, &topology));
    }
    report.notes.extend(notes(&report));
    let status = match &recorded {
        Ok(()) => report.end.status(),
        Err(_) => RunStatus::Failed,
    };
    if let Err(failure) = stored.put(status, LiveMeasured::Record(report.clone())) {
        kept = Err(failure);
    }
    recorded?;
    show(arguments, stored.run(), &report)?;
    kept?;
    conclusion(&report)
}

/// Refuses a label that exists, unless another record is to be added to it.
fn check_label(arguments: &RecordArguments) -> Result<(), Failure> {
    let Some(label) = arguments.label.as_deref().filter(|_| !arguments.add) else {
        return Ok(());
    };
    let labelled = match Store::open_existing(arguments.store.place()?) {
        Err(store::Error::NotThere { .. }) => return Ok(()),
        opened => opened?.labelled(label)?,
    };
    match labelled.into_iter().rfind(LiveRun::says_something) {
        None => Ok(()),
        Some(known) => {
            let message = format!(
                "there is a record with the label {label} already: {}, of {}",
                known.id, known.started_at
            );
            Err(Failure::new(ExitCode::Usage, message).advise(
                "choose another label, or take one more record of the same state with --add",
            ))
        }
    }
}

fn begun(
    arguments: &RecordArguments,
    root: &Root,
    target: &Target,
    topology: &model::Topology,
) -> RecordReport {
    let window_s = (arguments.seconds / WINDOWS).round();
    let begin = recorded_target::look(root, target, topology);
    RecordReport {
        target: arguments.target.clone(),
        metric: arguments.metric.to_string(),
        seconds_asked: arguments.seconds,
        window_s: window_s.clamp(WINDOW_S.0, WINDOW_S.1),
        notes: begin.gaps.clone(),
        begin,
        server_settings: recorded_target::server_settings(
            root,
            target,
            arguments.pg_role.as_deref(),
        ),
        kernel_settings: recorded_target::kernel_settings(topology),
        ..RecordReport::default()
    }
}

fn machine_busy_s(root: &Root) -> Option<f64> {
    let times = proc_cpu_times::read(root).ok().flatten()?;
    Some(times.busy_s.values().sum())
}

fn notes(report: &RecordReport) -> Vec<String> {
    let mut notes = Vec::new();
    let (work, cpu_s) = report.windows.iter().fold((0, 0.0), |(work, cpu_s), it| {
        (work + it.work.unwrap_or(0), cpu_s + it.cpu_s.unwrap_or(0.0))
    });
    if work > 0 && cpu_s <= 0.0 && report.judged_by == JudgedBy::Cost {
        notes.push("the target used no CPU time, so its work has no cost".to_owned());
    }
    let counting = report.windows.iter().filter(|it| it.void.is_none()).count();
    // Longer does not help where nothing is counted.
    if counting < 20 && report.end != RecordEnd::NoCounter {
        notes.push(format!(
            "{} may be used, and an interval needs 20: record for longer (--for)",
            model::counted(counting as u64, "window")
        ));
    }
    notes
}

fn show(arguments: &RecordArguments, run: &LiveRun, report: &RecordReport) -> Result<(), Failure> {
    match arguments.json {
        true => output::json(&report::record_document(run, report))?,
        false => {
            let label = arguments.label.as_deref();
            output::data(&report::record_text(label, report, &output::text_options()))?;
        }
    }
    let named = arguments.label.as_ref().unwrap_or(&run.id);
    output::talk(&format!(
        "stored as {}: numalab compare {named} OTHER",
        run.id
    ));
    Ok(())
}

fn conclusion(report: &RecordReport) -> Result<(), Failure> {
    let because = report.end_because.clone().unwrap_or_default();
    match report.end {
        RecordEnd::Unfinished | RecordEnd::TimeOver => Ok(()),
        RecordEnd::NoCounter => {
            let message = match because.is_empty() {
                true => format!(
                    "the counter of {}s stood still: nothing to record",
                    report.unit
                ),
                false => format!("no window counts: {because}"),
            };
            Err(Failure::new(ExitCode::WorkloadFailed, message))
        }
        RecordEnd::Changed => Err(Failure::new(ExitCode::PlacementNotHonoured, because)),
        RecordEnd::TargetEnded => Err(Failure::new(ExitCode::WorkloadFailed, because)),
        RecordEnd::Interrupted => Err(Failure::new(
            ExitCode::Interrupted,
            "interrupted; the windows that had ended are stored",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn a_label_is_no_id_and_no_option() {
        for good in ["before", "a", "v17.2_huge-pages"] {
            assert_eq!(label(good).as_deref(), Ok(good));
        }
        let long = "x".repeat(41);
        for bad in ["", "last", "2026", "-x", "a b", "a:b", "a,b", "ä", &long] {
            assert!(label(bad).is_err(), "{bad}");
        }
    }
}
