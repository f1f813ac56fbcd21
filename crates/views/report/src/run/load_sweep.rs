//! Runs of latency under load: points of a curve, of which none is better than another.

use model::{Case, Run};
use verdict::CaseJudgement;

use crate::run::figures::{decimals, value};
use crate::verdict_words::names::name;

/// What the load of a case moved, GB/s: the median over its valid trials.
pub(crate) fn load(case: &Case) -> Option<String> {
    let valid = case.trials.iter().filter(|it| it.valid_value().is_some());
    let loads = valid.filter_map(|trial| {
        let kernel = trial.measured.as_ref()?.kernel.as_ref()?;
        kernel.load_bytes_per_s
    });
    let median = stats::median(&loads.collect::<Vec<f64>>())?;
    Some(format!("{} GB/s", decimals(median / 1e9, 1)))
}

/// The ends of the curves in one sentence.
pub(crate) fn sentence(run: &Run, cases: &[CaseJudgement]) -> String {
    let mut measured: Vec<(&Case, &CaseJudgement, f64)> = run
        .cases
        .iter()
        .zip(cases)
        .filter_map(|(case, judged)| Some((case, judged, judged.median?)))
        .collect();
    measured.sort_by(|(.., a), (.., b)| a.total_cmp(b));
    let end = |(case, judged, median): &(&Case, &CaseJudgement, f64)| {
        let beside = load(case).map_or_else(String::new, |load| format!(" beside {load}"));
        let figure = value(run.metric, *median);
        format!(
            "{figure} {}{beside} ({})",
            run.shown_unit(),
            name(&judged.name)
        )
    };
    match measured.as_slice() {
        [] => "no curve: no case has a valid trial".to_owned(),
        [only] => format!("one point of a curve: {}", end(only)),
        [least, .., most] => {
            format!("a curve, not a ranking: {} to {}", end(least), end(most))
        }
    }
}
