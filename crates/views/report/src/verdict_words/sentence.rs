//! The verdict: one quotable sentence.

use model::{Run, RunStatus, counted};
use verdict::{
    CaseJudgement, Comparison, Judgement, Ratio, TRIALS_ENOUGH, Verdict, baseline_index, common,
    is_emulated, is_load_sweep, merit,
};

use crate::run::figures::{
    BARE_PLACES, RatioText, confidence_percent, decimals, share_above, value,
};
use crate::run::load_sweep;
use crate::verdict_words::controls;
use crate::verdict_words::names::{name, names, some_joined, trials};
use crate::verdict_words::too_few::{had_no_time, no_time, too_few, undecided, without_interval};

/// Maximum number of comparisons listed; the rest are counted.
const COMPARISONS_LISTED: usize = 8;

/// Returns the verdict of a run: one quotable sentence.
pub fn verdict_sentence(run: &Run, judgement: &Judgement) -> String {
    let Judgement {
        cases,
        comparisons,
        winner,
        controls,
        ..
    } = judgement;
    let winner = winner.map(|index| &cases[index]);
    sentence(run, cases, comparisons, winner) + &controls::sentence(run, controls)
}

fn sentence(
    run: &Run,
    cases: &[CaseJudgement],
    comparisons: &[Comparison],
    winner: Option<&CaseJudgement>,
) -> String {
    if is_emulated(run) {
        return "no winner: this machine is emulated in software and its speeds mean nothing"
            .to_string();
    }
    if cases.is_empty() {
        return match run.skipped.len() {
            0 => "no comparison: the run has no cases".to_string(),
            1 => "no comparison: this machine cannot run the only case".to_string(),
            skipped => {
                format!(
                    "no comparison: this machine can run none of {}",
                    counted(skipped, "case")
                )
            }
        };
    }
    if is_load_sweep(run) {
        return load_sweep::sentence(run, cases);
    }
    let Some(baseline) = baseline_index(run) else {
        return format!(
            "no comparison: the baseline {} did not run",
            name(&run.baseline)
        );
    };
    if let Some(sentence) = as_printed(run, cases, comparisons, &cases[baseline]) {
        return sentence;
    }
    let baseline = &cases[baseline];
    // Controls have their own sentence.
    let is_question = |it: &&Comparison| !cases[it.case_index].is_control;
    let comparisons: Vec<&Comparison> = comparisons.iter().filter(is_question).collect();
    match comparisons.as_slice() {
        [] => alone(run, baseline),
        [only] => of_two(run, baseline, &cases[only.case_index], only),
        _ => of_many(run, baseline, cases, &comparisons, winner),
    }
}

/// Returns a sentence with the figures of reports, where they are too few for an interval.
fn as_printed(
    run: &Run,
    cases: &[CaseJudgement],
    comparisons: &[Comparison],
    baseline: &CaseJudgement,
) -> Option<String> {
    let mut bare: Vec<(&Comparison, f64)> = comparisons
        .iter()
        .filter_map(|it| Some((it, it.bare_ratio?)))
        .collect();
    bare.sort_by(|(_, a), (_, b)| merit(run.metric, *b).total_cmp(&merit(run.metric, *a)));
    let listed = bare.iter().take(COMPARISONS_LISTED).map(|(it, ratio)| {
        let ratio = decimals(*ratio, BARE_PLACES);
        format!("{} has {ratio} times that", name(&it.case))
    });
    let mut listed: Vec<String> = listed.collect();
    if bare.len() > listed.len() {
        listed.push(format!("and {} more", bare.len() - listed.len()));
    }
    let reports = match cases.iter().all(|case| case.valid == 1) {
        true => "one imported trial of each case gives no interval".to_string(),
        false => format!("fewer than {TRIALS_ENOUGH} imported trials of a case give no interval"),
    };
    (!listed.is_empty()).then(|| {
        format!(
            "no winner: {reports}; by the printed figures, compared with {} ({} {}), {}",
            name(&baseline.name),
            baseline
                .median
                .map_or("-".to_string(), |it| value(run.metric, it)),
            run.shown_unit(),
            listed.join(", "),
        )
    })
}

fn alone(run: &Run, case: &CaseJudgement) -> String {
    let facts = run.metric.facts();
    let shown = |it: f64| value(run.metric, it);
    match (case.median, case.interval) {
        (Some(median), Some(interval)) => format!(
            "{} {} {}{} ({} interval {} to {}, {}); no comparison",
            name(&case.name),
            facts.verb,
            shown(median),
            match facts.unit_in_words {
                "" if run.shown_unit() != facts.shown_unit => format!(" {}", run.shown_unit()),
                "" => String::new(),
                unit => format!(" {unit}"),
            },
            confidence_percent(common([interval])),
            shown(interval.low),
            shown(interval.high),
            trials(case.valid),
        ),
        _ => undecided(run, &[case]),
    }
}

fn of_two(
    run: &Run,
    baseline: &CaseJudgement,
    case: &CaseJudgement,
    comparison: &Comparison,
) -> String {
    match comparison.ratio {
        Some(ratio) => compared(run, case, baseline, ratio, comparison.verdict),
        None => undecided(run, &[baseline, case]),
    }
}

/// Returns the verdict on several cases: the winner, and how each compares with the baseline.
fn of_many(
    run: &Run,
    baseline: &CaseJudgement,
    cases: &[CaseJudgement],
    comparisons: &[&Comparison],
    winner: Option<&CaseJudgement>,
) -> String {
    let head = match winner {
        _ if cases.iter().all(|case| case.rank.is_none()) => {
            return undecided(run, &cases.iter().collect::<Vec<_>>());
        }
        Some(winner) => won(winner, cases),
        None => shared(cases),
    };
    if baseline.valid < TRIALS_ENOUGH {
        let too_few = too_few(run, &[baseline]);
        return format!("{head}; no comparison with the baseline: {too_few}");
    }
    let mut compared: Vec<&Comparison> = comparisons.to_vec();
    let ratio_of = |it: &Comparison| {
        let ratio = it.ratio;
        ratio.map_or(f64::NEG_INFINITY, |it| merit(run.metric, it.ratio))
    };
    compared.sort_by(|a, b| ratio_of(b).total_cmp(&ratio_of(a)));
    let listed = &compared[..compared.len().min(COMPARISONS_LISTED)];
    let of = |verdict: Verdict| {
        listed
            .iter()
            .copied()
            .filter(move |it| it.verdict == verdict)
    };
    let mut parts = Vec::new();
    parts.extend(differing(of(Verdict::Faster)));
    parts.extend(differing(of(Verdict::Slower)));
    parts.extend(alike(run, of(Verdict::Tie)));
    let undecided = listed_cases(cases, of(Verdict::Undecided));
    let (late, others): (Vec<_>, Vec<_>) = undecided
        .into_iter()
        .partition(|case| had_no_time(run, cases, case));
    parts.extend(without_interval(&others));
    parts.extend(no_time(run, &late));
    if compared.len() > listed.len() {
        parts.push(format!("and {} more", compared.len() - listed.len()));
    }
    let ratios = comparisons.iter().filter_map(|it| Some(it.ratio?.interval));
    format!(
        "{head}; compared with {}, {} ({} intervals, {})",
        name(&baseline.name),
        parts.join("; "),
        confidence_percent(common(ratios)),
        trials_compared(baseline, cases, comparisons),
    )
}

/// Returns "5 trials each" or "5 to 7 trials" for the cases with a ratio.
fn trials_compared(
    baseline: &CaseJudgement,
    cases: &[CaseJudgement],
    comparisons: &[&Comparison],
) -> String {
    let with_ratio = comparisons.iter().filter(|it| it.ratio.is_some());
    let valid = with_ratio
        .map(|it| cases[it.case_index].valid)
        .chain([baseline.valid]);
    let (least, most) = valid.fold((usize::MAX, 0), |(least, most), count| {
        (least.min(count), most.max(count))
    });
    match least == most {
        true => format!("{} each", trials(most)),
        false => format!("{least} to {}", trials(most)),
    }
}

/// Returns "A is 1.49 times faster [1.46 to 1.52], B 1.10 times [1.07 to 1.12]".
fn differing<'c>(comparisons: impl Iterator<Item = &'c Comparison>) -> Option<String> {
    let said = comparisons.enumerate().filter_map(|(index, comparison)| {
        let RatioText { ratio, low, high } = seen(comparison.ratio?);
        let case = name(&comparison.case);
        let word = comparison.verdict.word();
        Some(match index {
            0 => format!("{case} is {ratio} times {word} [{low} to {high}]"),
            _ => format!("{case} {ratio} times [{low} to {high}]"),
        })
    });
    some_joined(said)
}

/// Returns "no difference above 6 % for A, 9 % for B on this machine today".
fn alike<'c>(run: &Run, comparisons: impl Iterator<Item = &'c Comparison>) -> Option<String> {
    let said = comparisons.filter_map(|comparison| {
        let share = share_above(comparison.ratio?.difference_below());
        Some(format!("{share} for {}", name(&comparison.case)))
    });
    let said = some_joined(said)?;
    Some(format!("no difference above {said} {}", scope(run)))
}

/// Returns the scope of a statement that no difference was seen.
fn scope(run: &Run) -> &'static str {
    match run.status {
        RunStatus::Imported => "in what was imported",
        _ => "on this machine today",
    }
}

fn listed_cases<'c>(
    cases: &'c [CaseJudgement],
    comparisons: impl Iterator<Item = &'c Comparison>,
) -> Vec<&'c CaseJudgement> {
    comparisons.map(|it| &cases[it.case_index]).collect()
}

/// Describes a run without a winner: the cases that share the first rank.
pub(crate) fn shared(cases: &[CaseJudgement]) -> String {
    let ranked = || cases.iter().filter(|case| case.rank.is_some());
    let first = ranked().filter(|case| case.rank.is_some_and(|rank| rank.best == 1));
    let first: Vec<&str> = first.map(|case| case.name.as_str()).collect();
    let of_all = of_all(cases);
    match first.len() == ranked().count() {
        true => format!("none of {of_all} is significantly faster than the others"),
        false => format!("{} tie as fastest of {of_all}", names(&first)),
    }
}

/// Describes a run in which one case is faster than all others.
pub(crate) fn won(winner: &CaseJudgement, cases: &[CaseJudgement]) -> String {
    format!("{} is fastest of {}", name(&winner.name), of_all(cases))
}

/// Returns "7 cases", not counting controls.
fn of_all(cases: &[CaseJudgement]) -> String {
    let is_question = |case: &&CaseJudgement| !case.is_control;
    let all = cases.iter().filter(is_question).count();
    let ranked = cases.iter().filter(is_question);
    let ranked = ranked.filter(|case| case.rank.is_some()).count();
    match ranked == all {
        true => counted(ranked, "case"),
        false => counted(ranked, "ranked case"),
    }
}

/// Returns "A is 1.09 times slower than B (…)", or the smallest detectable difference for a tie.
fn compared(
    run: &Run,
    case: &CaseJudgement,
    baseline: &CaseJudgement,
    ratio: Ratio,
    verdict: Verdict,
) -> String {
    match verdict {
        Verdict::Faster | Verdict::Slower => {
            let of = [case, baseline];
            let times = times(&baseline.name, &of, ratio, verdict);
            format!("{} is {times}", name(&case.name))
        }
        _ => {
            let text = RatioText::of(ratio);
            format!(
                "no difference above {} between {} and {} {} \
                 ({} interval of their ratio {} to {}, {})",
                share_above(ratio.difference_below()),
                name(&case.name),
                name(&baseline.name),
                scope(run),
                confidence_percent(common([ratio.interval])),
                text.low,
                text.high,
                trials_of(&[case, baseline]),
            )
        }
    }
}

/// Returns "1.09 times slower than B (95 % interval 1.05 to 1.13, 5 trials each)".
fn times(than: &str, of: &[&CaseJudgement], ratio: Ratio, verdict: Verdict) -> String {
    let text = seen(ratio);
    format!(
        "{} times {} than {} ({} interval {} to {}, {})",
        text.ratio,
        verdict.word(),
        name(than),
        confidence_percent(common([ratio.interval])),
        text.low,
        text.high,
        trials_of(of),
    )
}

/// Returns the ratio as the verdict states it: "1.09 times slower" is a ratio of rates of 0.92.
pub(crate) fn seen(ratio: Ratio) -> RatioText {
    RatioText::of(match ratio.ratio < 1.0 {
        true => ratio.inverse(),
        false => ratio,
    })
}

/// Returns "5 trials each", or "5 and 6 trials".
fn trials_of(cases: &[&CaseJudgement]) -> String {
    match cases {
        [a, b] if a.valid == b.valid => format!("{} each", trials(a.valid)),
        [a, b] => format!("{} and {}", a.valid, trials(b.valid)),
        _ => trials(cases.iter().map(|case| case.valid).sum()),
    }
}
