//! `numalab push` and `numalab pull`: send runs to another store, or fetch them from one.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use model::counted;
use serde_json::{Value, json};
use store::{Sent, Store, StoredRun};

use crate::failure::Failure;
use crate::files::named_store::{StoreArguments, place};
use crate::output;

/// Which runs are sent.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true)))]
pub(crate) struct WhichArguments {
    /// Run ids or prefixes; `last` is the newest run with trials.
    #[arg(value_name = "RUN", group = "which")]
    pub runs: Vec<String>,
    /// Every run that has ended.
    #[arg(long, group = "which")]
    pub all: bool,
    /// The store.
    #[command(flatten)]
    pub store: StoreArguments,
    /// Print JSON (numalab.sent/1).
    #[arg(long)]
    pub json: bool,
}

/// Options of `numalab push`.
#[derive(Args)]
pub(crate) struct PushArguments {
    /// Which runs, of which store.
    #[command(flatten)]
    pub which: WhichArguments,
    /// Store to send them to: postgresql://ROLE@HOST/DATABASE, or a file.
    #[arg(long, value_name = "URL|FILE")]
    pub to: PathBuf,
}

/// Options of `numalab pull`.
#[derive(Args)]
pub(crate) struct PullArguments {
    /// Which runs, to which store.
    #[command(flatten)]
    pub which: WhichArguments,
    /// Store to fetch them from: postgresql://ROLE@HOST/DATABASE, or a file.
    #[arg(long, value_name = "URL|FILE")]
    pub from: PathBuf,
}

/// The URL may have a password.
impl std::fmt::Debug for PushArguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.which.fmt(f)
    }
}

/// The URL may have a password.
impl std::fmt::Debug for PullArguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.which.fmt(f)
    }
}

/// Sends runs.
pub(crate) fn push(arguments: &PushArguments) -> Result<(), Failure> {
    let from = Store::open_existing(arguments.which.store.place()?)?;
    // Many send at once, and a server may be away for a moment.
    let to = Store::open_patiently(place(&arguments.to, "--to")?)?;
    transfer(&arguments.which, &from, to)
}

/// Fetches runs.
pub(crate) fn pull(arguments: &PullArguments) -> Result<(), Failure> {
    let from = Store::open_existing(place(&arguments.from, "--from")?)?;
    let to = Store::open(arguments.which.store.place()?)?;
    transfer(&arguments.which, &from, to)
}

fn transfer(which: &WhichArguments, from: &Store, mut to: Store) -> Result<(), Failure> {
    let runs: Vec<StoredRun> = match which.all {
        true => from.runs(true)?,
        false => which
            .runs
            .iter()
            .map(|run| from.run(run))
            .collect::<Result<_, _>>()?,
    };
    let lacked = to.lacks(&runs)?;
    let mut sent: Vec<(&StoredRun, Sent, String)> = Vec::new();
    let mut failed = None;
    for run in &lacked {
        match from.send(run, &mut to) {
            Ok((what, id)) => sent.push((run, what, id)),
            Err(error) => {
                let message = format!("run {}: {error}", run.id);
                let failure = Failure::from(error);
                failed = Some(Failure { message, ..failure });
                break;
            }
        }
    }
    // What arrived is said also where the rest did not.
    say(which.json, &sent, runs.len())?;
    failed.map_or(Ok(()), Err)
}

fn say(is_json: bool, sent: &[(&StoredRun, Sent, String)], count: usize) -> Result<(), Failure> {
    let count_of = |wanted: Sent| sent.iter().filter(|(_, what, _)| *what == wanted).count();
    let (new, updated) = (count_of(Sent::New), count_of(Sent::Updated));
    if is_json {
        let runs: Vec<Value> = sent
            .iter()
            .map(|(run, what, id)| json!({ "run": run.id, "id": id, "state": word(*what) }))
            .collect();
        return output::json(&json!({
            "format": "numalab.sent/1",
            "asked": count,
            "new": new,
            "updated": updated,
            "runs": runs,
        }));
    }
    let line = |(run, _, id): &(&StoredRun, Sent, String)| match run.id == *id {
        true => format!("{id}\n"),
        false => format!("{} as {id}\n", run.id),
    };
    output::data(&sent.iter().map(line).collect::<String>())?;
    output::talk(&format!(
        "{} asked for: {new} sent, {updated} updated",
        counted(count, "run")
    ));
    Ok(())
}

fn word(sent: Sent) -> &'static str {
    match sent {
        Sent::New => "new",
        Sent::Updated => "updated",
        Sent::Known => "known",
    }
}
