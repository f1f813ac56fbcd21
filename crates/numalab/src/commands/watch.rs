//! `numalab watch`: nodes, databases and processes while they change.

use std::path::PathBuf;

use clap::Args;
use linux::Root;
use live::{Sampler, Scope};
use model::exit::ExitCode;
use residency::instances::Target;

use crate::arguments::values::target_of;
use crate::databases::looks::DatabaseLooks;
use crate::failure::Failure;
use crate::interrupt;
use crate::watching::{Pace, RecordingFile, Sampling, Shown, headless, replay, screen};

/// Options of `numalab watch`.
#[derive(Debug, Args)]
pub(crate) struct WatchArguments {
    /// PID, process name, postgres:DATADIR, mysql:DATADIR, redis:PORT, valkey:PORT,
    /// oracle:SID, cgroup:/PATH or unit:NAME [default: the whole machine].
    #[arg(conflicts_with = "replay")]
    pub target: Option<String>,
    /// Take a snapshot every this many seconds.
    #[arg(long, value_name = "S", default_value = "1", value_parser = interval)]
    #[arg(allow_negative_numbers = true)]
    pub interval: f64,
    /// End after this many snapshots.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(conflicts_with_all = ["once", "replay"])]
    pub count: Option<u64>,
    /// Also write every snapshot to a new file. Without a terminal, only do that.
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// Show a recording instead of this machine.
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Print one snapshot as text: the rates are those of one interval. Of a recording, the last.
    #[arg(long, conflicts_with = "record")]
    pub once: bool,
    /// Print snapshots as JSON (numalab.snapshot/1), one per line.
    #[arg(long)]
    pub json: bool,
    /// With --replay: write the recording as a trace for the viewer Perfetto.
    #[arg(long, value_name = "FILE", requires = "replay", conflicts_with_all = ["once", "json"])]
    pub perfetto: Option<PathBuf>,
}

/// The shortest interval: below it, looking would cost more than 5 % of a core.
const INTERVAL_MIN_S: f64 = 0.2;
/// The longest: the forecast looks back ten minutes.
const INTERVAL_MAX_S: f64 = 3600.0;

fn interval(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (INTERVAL_MIN_S..=INTERVAL_MAX_S).contains(&seconds) => Ok(seconds),
        _ => Err(format!(
            "expected seconds from {INTERVAL_MIN_S} to {INTERVAL_MAX_S}"
        )),
    }
}

/// Watches, or shows a recording.
pub(crate) fn run(arguments: &WatchArguments) -> Result<(), Failure> {
    if let Some(file) = &arguments.replay {
        return match (&arguments.perfetto, arguments.json, arguments.once) {
            (Some(trace), _, _) => replay::to_perfetto(file, trace),
            (None, json, true) => replay::last(file, json),
            (None, true, false) => replay::documents(file),
            (None, false, false) => replay::on_screen(file),
        };
    }
    let named = |text| target_of(&Root::live(), text);
    let target = arguments.target.as_deref().map(named).transpose()?;
    let scope = target.clone().map_or(Scope::Machine, Scope::Target);
    linux::process::raise_open_files();
    let mut sampler = Sampler::new(Root::live(), scope)?;
    sampler.read_commands();
    let shown = Shown {
        target: target.as_ref().map(Target::to_string),
        is_process: matches!(target, Some(Target::Process(_))),
        interval_s: arguments.interval,
    };
    let pace = Pace {
        interval_s: arguments.interval,
        count: match arguments.once {
            true => Some(if arguments.json { 1 } else { 2 }),
            false => arguments.count,
        },
    };
    let cancel = interrupt::cancel_and_end_on_signals(watch::give_keys_back)?;
    let takes_screen = !arguments.json && !arguments.once;
    let taken = takes_screen.then(screen::take).transpose();
    let screen = match (taken, &arguments.record) {
        (Ok(screen), _) => screen,
        // Without a terminal, a recording is made all the same.
        (Err(watch::Error::NotATerminal { .. } | watch::Error::Dumb { .. }), Some(_)) => None,
        (Err(error), _) => return Err(no_screen(&error)),
    };
    let recording = arguments.record.as_deref();
    let recording = recording.map(|file| RecordingFile::create(file, &shown));
    let recording = recording.transpose();
    let databases = match arguments.once {
        true => DatabaseLooks::awaited(),
        false => DatabaseLooks::in_background(),
    };
    let sampling = Sampling::start(sampler, databases, pace)?;
    match screen {
        Some(screen) => screen::show(screen, &shown, sampling, recording?, &cancel),
        None if arguments.once && !arguments.json => headless::text(sampling, &cancel),
        None => headless::stream(sampling, recording?, arguments.json, &shown, &cancel),
    }
}

fn no_screen(error: &watch::Error) -> Failure {
    Failure::new(ExitCode::Usage, format!("cannot show a screen: {error}")).advise(
        "print one snapshot with --once, print them all with --json, or record with --record FILE",
    )
}

impl From<live::Error> for Failure {
    fn from(error: live::Error) -> Self {
        match error {
            live::Error::Read(error) => error.into(),
            live::Error::Instance(error) => error.into(),
        }
    }
}
