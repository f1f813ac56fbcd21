//! The newest stored run of an experiment, for commands that use what was measured last.

use model::exit::ExitCode;
use store::Store;

use crate::failure::Failure;

/// How many runs are looked through.
const RUNS_MAX: usize = 10_000;

/// Returns its id; `measure` says how to make one.
pub(crate) fn id(
    store: &Store,
    experiment: &str,
    measure: &'static str,
) -> Result<String, Failure> {
    let runs = store.history(RUNS_MAX)?;
    let run = runs.iter().find(|run| run.experiment == experiment);
    let none = || {
        let message = format!("no run of {experiment} is stored");
        Failure::new(ExitCode::Usage, message).advise(measure)
    };
    Ok(run.ok_or_else(none)?.id.clone())
}
