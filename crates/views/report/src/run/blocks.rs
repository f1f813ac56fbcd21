//! Blocks of alternating windows that are left out because others took CPU time: how many there
//! are, and what they would change.

use model::{Case, Run, Trial, counted};
use stats::median;

use crate::run::figures::decimals;

/// Returns `12 of 200 blocks are left out, …; with them, ratios to X would differ by up to 0.4 %`,
/// if any are.
pub(crate) fn left_out(run: &Run) -> Option<String> {
    // The windows of all cases in a block are left out together: one case tells of all.
    let of_case = |case: &Case| {
        let samples = case.trials.iter().flat_map(samples);
        samples.fold((0_usize, 0_usize), |(all, out), (_, left_out)| {
            (all + 1, out + usize::from(left_out))
        })
    };
    let (all, out) = run.cases.iter().map(of_case).max()?;
    if out == 0 {
        return None;
    }
    let baseline = run.cases.iter().find(|case| case.plan.name == run.baseline);
    let changes = run.cases.iter().filter_map(|case| change(case, baseline?));
    let most = changes.map(f64::abs).reduce(f64::max);
    let change = most.map_or(String::new(), |most| {
        let (name, percent) = (&run.baseline, decimals(100.0 * most, 1));
        format!("; with them, ratios to {name} would differ by up to {percent} %")
    });
    Some(format!(
        "{out} of {} are left out, because others took CPU time in them{change}",
        counted(all, "block")
    ))
}

/// The rate of each window of a trial whose windows alternated, and whether it is left out.
fn samples(trial: &Trial) -> impl Iterator<Item = (f64, bool)> + '_ {
    let measured = trial.measured.as_ref().filter(|_| trial.has_alternated());
    let sessions = measured.and_then(|it| it.sessions.as_ref());
    let samples = sessions.into_iter().flat_map(|it| &it.samples);
    samples.map(|sample| (sample.logical_reads_per_s, sample.left_out))
}

/// How much the ratio to the baseline, the median over the rounds, changes with what is left out,
/// as a share; `None` for the baseline, and without rounds of both.
fn change(case: &Case, baseline: &Case) -> Option<f64> {
    if case.plan.name == baseline.plan.name {
        return None;
    }
    let mean = |trial: &Trial, is_with: bool| {
        let rates = samples(trial).filter(|(_, left_out)| is_with || !left_out);
        let (count, sum) = rates.fold((0_u32, 0.0), |(count, sum), (rate, _)| {
            (count + 1, sum + rate)
        });
        (count > 0 && sum > 0.0).then(|| sum / f64::from(count))
    };
    let ratio = |is_with: bool| {
        let ratios = case.trials.iter().filter_map(|trial| {
            let mut others = baseline.trials.iter();
            let other = others.find(|other| other.round == trial.round)?;
            Some(mean(trial, is_with)? / mean(other, is_with)?)
        });
        median(&ratios.collect::<Vec<_>>())
    };
    Some(ratio(true)? / ratio(false)? - 1.0)
}
