//! `numalab fleet status`: what came of a plan.

use std::path::{Path, PathBuf};

use clap::Args;
use model::exit::ExitCode;
use model::{Outcome, RunHeader, RunStatus};
use orchestrators::{Plan, RunOfHost, progress, progress_text};
use serde_json::json;
use store::{Store, Stored};

use crate::failure::Failure;
use crate::files::named_store;
use crate::output;

/// Options of `numalab fleet status`.
#[derive(Args)]
pub(super) struct StatusArguments {
    /// The folder that `numalab fleet plan` wrote, or its plan.toml.
    #[arg(value_name = "DIR|PLAN")]
    plan: PathBuf,
    /// Name every machine that is not done, not only as many as fit on a screen.
    #[arg(long, conflicts_with = "json")]
    full: bool,
    /// Look into this store instead of the one of the plan.
    #[arg(long, value_name = "FILE|URL")]
    store: Option<PathBuf>,
    /// Print JSON (numalab.fleet-status/1).
    #[arg(long)]
    json: bool,
}

/// The URL may have a password.
impl std::fmt::Debug for StatusArguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StatusArguments")
    }
}

/// The most bytes of a plan.
const PLAN_BYTES_MAX: u64 = 16 << 20;
/// Runs that are asked for the reason of their failure.
const REASONS_MAX: usize = 100;

/// Shows what came of a plan.
pub(super) fn run(arguments: &StatusArguments) -> Result<(), Failure> {
    let plan = read(&arguments.plan)?;
    let named = match &arguments.store {
        Some(named) => named_store::place(named, "--store")?,
        None => named_store::place(Path::new(&plan.store), "the plan")?,
    };
    let runs = match Store::open_existing(named) {
        // The first machine to send makes it.
        Err(store::Error::NotThere { .. }) => Vec::new(),
        opened => runs(&plan, &opened?)?,
    };
    let found = progress(&plan, &runs);
    if arguments.json {
        let document = json!({
            "format": "numalab.fleet-status/1",
            "is_complete": found.is_complete(),
            "progress": found,
        });
        output::json(&document)?;
    } else {
        let width = output::text_options().width;
        output::data(&progress_text(&found, width, arguments.full))?;
    }
    if found.is_complete() {
        return Ok(());
    }
    let missing = Failure::new(ExitCode::ComparisonBelow, "the plan is not complete");
    let again =
        "run the plan again: a machine does what it has not done, and sends what is not there";
    Err(missing.advise(match plan.engine.reasons(&plan.name) {
        Some(reasons) => format!("see why steps failed: {reasons}; {again}"),
        None => again.to_owned(),
    }))
}

fn read(named: &Path) -> Result<Plan, Failure> {
    let path = match named.is_dir() {
        true => named.join("plan.toml"),
        false => named.to_owned(),
    };
    let failure = |cause: &dyn std::fmt::Display| {
        let message = format!("cannot read the plan {}: {cause}", path.display());
        Failure::new(ExitCode::Usage, message).advise("make one: numalab fleet plan")
    };
    let bytes = observed::read_named(&path, PLAN_BYTES_MAX).map_err(|it| failure(&it))?;
    let text = String::from_utf8(bytes).map_err(|it| failure(&it))?;
    Plan::parse(&text).map_err(|it| failure(&it))
}

/// The runs that the plan may be about, the newest first.
fn runs(plan: &Plan, store: &Store) -> Result<Vec<RunOfHost>, Failure> {
    let made_at = plan.made_at.parse::<jiff::Timestamp>().map_err(|cause| {
        let message = format!("the plan was made at {:?}: {cause}", plan.made_at);
        Failure::new(ExitCode::Usage, message)
    })?;
    let names: Vec<String> = plan
        .steps
        .iter()
        .map(orchestrators::Step::stored_as)
        .collect();
    let mut reasons = 0;
    let mut found = Vec::new();
    for header in store.history(usize::MAX)? {
        if !names.contains(&header.experiment) {
            continue;
        }
        let at = header.started_at.parse::<jiff::Timestamp>();
        let is_later = at.is_ok_and(|at| at >= made_at);
        let is_asked = is_later && has_failed(&header) && reasons < REASONS_MAX;
        let reason = match is_asked {
            true => reason(store, &header)?,
            false => None,
        };
        reasons += usize::from(is_asked);
        found.push(RunOfHost {
            header,
            is_later,
            reason,
        });
    }
    Ok(found)
}

fn has_failed(header: &RunHeader) -> bool {
    let has_ended = !matches!(
        header.status,
        RunStatus::Unfinished | RunStatus::Interrupted
    );
    has_ended && header.trials_valid == 0 && header.trials_failed + header.trials_invalid > 0
}

/// Why the last trial of a run does not count.
fn reason(store: &Store, header: &RunHeader) -> Result<Option<String>, Failure> {
    let Stored::Run(run) = store.load_any(&header.id)? else {
        return Ok(None);
    };
    let trials = run.cases.iter().flat_map(|case| &case.trials);
    let mut reasons = trials.filter_map(|trial| match &trial.outcome {
        Outcome::Failed(reason) | Outcome::Invalid(reason) => Some(reason.clone()),
        Outcome::Valid => None,
    });
    Ok(reasons.next_back())
}
