//! Finds the run that a user means: by id, by the start of an id, or by "last".

use crate::Error;
use crate::database::Transaction;
use crate::record::RunNumber;

/// What `last` may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A run of an experiment.
    OfExperiment,
    /// That, or a run of live windows.
    Any,
}

/// The word for the newest run that has a trial: one that failed before its first trial, or has
/// none yet, has nothing to show and must not hide the previous run.
const LAST: &str = "last";
/// The most ids named in a message.
const NAMED: usize = 5;
/// Only this much of a request is compared with ids, which are much shorter.
const ASKED_CHARS: usize = 64;

/// Finds the run that is asked for.
pub(crate) fn find(
    transaction: &Transaction<'_>,
    asked: &str,
    wanted: Wanted,
) -> Result<RunNumber, Error> {
    if let Some(number) = with_id(transaction, asked)? {
        return Ok(number);
    }
    let runs = ids(transaction)?;
    let place = transaction.place().clone();
    if runs.is_empty() {
        return Err(Error::NoRuns { place });
    }
    if asked == LAST {
        let last = newest_to_show(transaction, wanted)?;
        return last.ok_or(Error::NoTrials { place });
    }
    let starts = |(_, id): &&(RunNumber, String)| !asked.is_empty() && id.starts_with(asked);
    let matches: Vec<_> = runs.iter().filter(starts).collect();
    match matches.as_slice() {
        [(number, _)] => Ok(*number),
        [] => Err(Error::UnknownRun {
            asked: asked.to_string(),
            nearest: nearest(asked, runs.iter().map(|(_, id)| id.as_str())),
        }),
        _ => Err(Error::AmbiguousRun {
            asked: asked.to_string(),
            count: matches.len(),
            examples: matches
                .iter()
                .take(NAMED)
                .map(|(_, id)| id.clone())
                .collect(),
        }),
    }
}

/// The run with this whole id, without reading others.
fn with_id(transaction: &Transaction<'_>, id: &str) -> Result<Option<RunNumber>, Error> {
    let sql = "SELECT number FROM runs WHERE id = $1";
    let found = transaction.first(sql, &[id.into()], |row| row.get(0))?;
    Ok(found.map(RunNumber))
}

fn newest_to_show(
    transaction: &Transaction<'_>,
    wanted: Wanted,
) -> Result<Option<RunNumber>, Error> {
    let sql = match wanted {
        Wanted::OfExperiment => "SELECT max(run) FROM trials",
        Wanted::Any => {
            "SELECT max(run) FROM (SELECT max(run) AS run FROM trials
             UNION ALL SELECT max(run) FROM live_runs WHERE windows_valid + windows_void > 0)
             AS newest"
        }
    };
    let newest: Option<Option<i64>> = transaction.first(sql, &[], |row| row.get(0))?;
    Ok(newest.flatten().map(RunNumber))
}

/// Every run, newest first.
fn ids(transaction: &Transaction<'_>) -> Result<Vec<(RunNumber, String)>, Error> {
    let sql = "SELECT number, id FROM runs ORDER BY number DESC";
    transaction.all(sql, &[], |row| {
        Ok((RunNumber(row.get(0)?), row.text(1)?.to_owned()))
    })
}

/// The ids most similar to the request: by their starts, because users type starts, then whole.
fn nearest<'i>(asked: &str, ids: impl Iterator<Item = &'i str>) -> Vec<String> {
    let asked: String = asked.chars().take(ASKED_CHARS).collect();
    let length = asked.chars().count();
    let mut ranked: Vec<_> = ids
        .map(|id| {
            let id: String = id.chars().take(ASKED_CHARS).collect();
            let start: String = id.chars().take(length).collect();
            let of_start = strsim::damerau_levenshtein(&asked, &start);
            let of_whole = strsim::damerau_levenshtein(&asked, &id);
            (of_start, of_whole, id)
        })
        .collect();
    // The sort is stable, so among equals the newest comes first.
    ranked.sort_by_key(|(of_start, of_whole, _)| (*of_start, *of_whole));
    ranked.truncate(NAMED);
    ranked.into_iter().map(|(_, _, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(asked: &str, expected: &[&str]) {
        let ids = ["b7f3", "c102", "b8aa", "xyzzy"];
        let nearest = nearest(asked, ids.into_iter());
        assert_eq!(nearest[..expected.len()], *expected, "{asked:?}");
    }

    #[test]
    fn the_nearest_ids_are_those_that_start_alike() {
        check("b8", &["b8aa"]);
        check("b7e3", &["b7f3"]);
        check("7bf3", &["b7f3"]);
        check("xyzyz", &["xyzzy"]);
        check("", &["b7f3", "c102", "b8aa", "xyzzy"]);
    }

    #[test]
    fn a_hostile_name_takes_no_time() {
        assert_eq!(
            nearest(&"x".repeat(1 << 20), ["b7f3"].into_iter()),
            ["b7f3"]
        );
    }
}
