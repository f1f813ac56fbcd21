//! `numalab compare` of records: by labels or ids.

use model::LiveRun;
use model::exit::ExitCode;
use report::Fields;
use store::Store;

use crate::failure::Failure;
use crate::output;

/// Returns the records of both sides; `None` if both are runs of experiments.
pub(crate) fn records(
    store: &Store,
    named: [&str; 2],
) -> Result<Option<[Vec<LiveRun>; 2]>, Failure> {
    let [first, second] = named;
    match (side(store, first)?, side(store, second)?) {
        (None, None) => Ok(None),
        (Some(one), Some(other)) => Ok(Some([one, other])),
        (one, _) => {
            let (record, run) = if one.is_some() {
                (first, second)
            } else {
                (second, first)
            };
            let message = format!(
                "cannot compare {first} with {second}: {record} is a run of live windows, {run} \
                 one of an experiment"
            );
            Err(Failure::new(ExitCode::Usage, message).advise("list them: numalab history"))
        }
    }
}

/// The records with a label, or the one with an id.
fn side(store: &Store, named: &str) -> Result<Option<Vec<LiveRun>>, Failure> {
    let labelled = store.labelled(named)?;
    if labelled.is_empty() {
        let id = named.split_once(':').map_or(named, |(id, _)| id);
        return Ok(store.load_live(id)?.map(|live| vec![live]));
    }
    let telling: Vec<LiveRun> = labelled
        .into_iter()
        .filter(LiveRun::says_something)
        .collect();
    match telling.is_empty() {
        true => {
            let message = format!("no record with the label {named} has a window that counts");
            Err(Failure::new(ExitCode::Usage, message).advise("list them: numalab history"))
        }
        false => Ok(Some(telling)),
    }
}

/// Compares records that the user named so; fails if the second is below `fail_below`.
pub(crate) fn run(
    [first, second]: &[Vec<LiveRun>; 2],
    names: [&str; 2],
    is_json: bool,
    fail_below: Option<f64>,
) -> Result<(), Failure> {
    let found = report::compare_records(first, second)
        .map_err(|reason| Failure::new(ExitCode::Usage, format!("cannot compare: {reason}")))?;
    match is_json {
        true => output::json(&found.document())?,
        false => {
            let options = output::text_options();
            output::data(&report::record_comparison_text(&found, names, &options))?;
        }
    }
    match fail_below {
        Some(limit) if found.is_below(limit) => {
            let [first, second] = names;
            let message = format!("{second} is below {limit} times {first}");
            Err(Failure::new(ExitCode::ComparisonBelow, message))
        }
        _ => Ok(()),
    }
}
