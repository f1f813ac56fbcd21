//! Whose counters of work `numalab try` reads: those of a database, of an instance that numalab
//! holds up, or others that the user names.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use instance::HeldCounter;
use linux::{Root, proc_stat};
use model::exit::ExitCode;
use postgresql::Places;
use residency::instances::{self, Target, databases_of_machine};
use server::{WorkCounters, WorkDone};
use switchback::Exported;

use crate::databases::table::databases;
use crate::failure::Failure;

/// How work is counted.
#[derive(Clone, Debug)]
pub(crate) enum Metric {
    /// By the target's own counters.
    Auto,
    /// By a number that this program prints.
    Command(String),
    /// By a number in this file.
    File(PathBuf),
    /// By a counter on a page of metrics, named so.
    Exported(String, Exported),
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "auto" => Ok(Metric::Auto),
            Some(("command", program)) if !program.is_empty() => {
                Ok(Metric::Command(program.to_owned()))
            }
            Some(("file", path)) if !path.is_empty() => Ok(Metric::File(path.into())),
            Some(("prometheus", url)) => {
                Ok(Metric::Exported(url.to_owned(), Exported::parse(url)?))
            }
            _ => {
                Err("expected auto, command:PROGRAM, file:PATH or prometheus:URL#METRIC".to_owned())
            }
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Metric::Auto => f.write_str("auto"),
            Metric::Command(program) => write!(f, "command:{program}"),
            Metric::File(path) => write!(f, "file:{}", path.display()),
            Metric::Exported(url, _) => write!(f, "prometheus:{url}"),
        }
    }
}

/// What counts the work of a target.
#[derive(Clone, Debug)]
pub(crate) enum Counted {
    /// What the user named.
    Named(Metric),
    /// An instance that is held up.
    Held(HeldCounter),
    /// A database, with its first process.
    Database(Target, u32),
}

/// Finds what counts the work of a target.
pub(crate) fn counted(root: &Root, target: &Target, metric: &Metric) -> Result<Counted, Failure> {
    if !matches!(metric, Metric::Auto) {
        return Ok(Counted::Named(metric.clone()));
    }
    let members = instances::find(root, target)?;
    let pids: Vec<u32> = members.iter().map(|member| member.stat.pid).collect();
    let first = members.iter().find(|it| !pids.contains(&it.stat.parent));
    let first = first.map_or(pids[0], |member| member.stat.pid);
    if let Target::Postgres(_) | Target::Server(_) = target {
        return Ok(Counted::Database(target.clone(), first));
    }
    if let Some(counter) = HeldCounter::of_process(first) {
        return Ok(Counted::Held(counter));
    }
    // A server is the same whatever names it.
    let mut among = databases_of_machine(root)?;
    among.retain(|it| it.roots.iter().all(|pid| pids.contains(pid)));
    match &among[..] {
        [database] => {
            let first = database.roots.first().copied().unwrap_or(first);
            Ok(Counted::Database(database.target.clone(), first))
        }
        _ => {
            let name = proc_stat::read(root, first).map(|stat| stat.name);
            let message = format!(
                "{target} ({}) is not one database whose counters numalab reads",
                name.unwrap_or_default()
            );
            Err(Failure::new(ExitCode::Usage, message).advise(
                "name what counts its work: --metric command:PROGRAM or --metric file:PATH; \
                 `numalab targets` lists the databases",
            ))
        }
    }
}

/// Seconds of the shortest window of sessions that report their counters late: those of PostgreSQL
/// do once a second, and idle ones up to 10 s later (pgstat.c, `PGSTAT_IDLE_INTERVAL`).
pub(crate) const LATE_WINDOW_S: f64 = 20.0;
/// Otherwise.
const WINDOW_S: f64 = 2.0;

impl Counted {
    /// Seconds of the shortest window that its counters allow.
    pub(crate) fn least_window_s(&self) -> f64 {
        match self {
            Counted::Database(Target::Postgres(_), _) => LATE_WINDOW_S,
            _ => WINDOW_S,
        }
    }

    /// Whether reads cost what a table says, so that figures say nothing about hardware.
    pub(crate) fn has_emulated_cost(&self) -> bool {
        matches!(self, Counted::Held(counter) if counter.has_emulated_cost)
    }

    /// Opens the counters of work.
    pub(crate) fn open(&self, role: Option<&str>) -> Result<Box<dyn WorkCounters>, String> {
        match self {
            Counted::Named(Metric::Command(program)) => Ok(switchback::command(program.clone())),
            Counted::Named(Metric::File(path)) => Ok(switchback::file(path.clone())),
            Counted::Named(Metric::Exported(_, exported)) => Ok(Box::new(exported.clone())),
            Counted::Named(Metric::Auto) => Err("the target has no counters".to_owned()),
            Counted::Held(counter) => Ok(Box::new(HeldInstance(*counter))),
            Counted::Database(target, pid) => {
                let databases = databases(Places::default());
                let found = databases.iter().find_map(|it| it.work(target, *pid, role));
                let unknown = || format!("numalab reads no counters of {target}");
                found
                    .ok_or_else(unknown)?
                    .map_err(|error| match error.advice() {
                        Some(advice) => format!("{error}; {advice}"),
                        None => error.to_string(),
                    })
            }
        }
    }
}

/// The logical reads of an instance that is held up.
struct HeldInstance(HeldCounter);

impl WorkCounters for HeldInstance {
    fn unit(&self) -> &'static str {
        "logical read"
    }

    fn mix(&self) -> Option<&'static str> {
        None
    }

    fn read(&mut self) -> Result<WorkDone, server::Error> {
        let read = self.0.logical_reads();
        let units = read.map_err(server::Error::io("reading the counter of the instance"))?;
        Ok(WorkDone { units, mix: None })
    }
}
