//! The one sentence a person can quote.

use model::{Run, RunStatus};

use crate::confidence::{common, percent};
use crate::judgement::{
    CaseJudgement, Comparison, Ratio, TRIALS_ENOUGH, baseline_index, is_emulated, merit,
};
use crate::run_figures::{RatioText, decimals, value};
use crate::run_ranking::BARE_PLACES;
use crate::verdict::Verdict;

/// A name in the sentence is cut here.
const NAME_CHARS: usize = 80;

/// Comparisons that are listed; more are counted.
const COMPARISONS_LISTED: usize = 8;

/// Says what the run says.
pub(crate) fn sentence(
    run: &Run,
    cases: &[CaseJudgement],
    comparisons: &[Comparison],
    winner: Option<&CaseJudgement>,
) -> String {
    if is_emulated(run) {
        return "no winner is named, because this machine is emulated in software \
                and its speeds mean nothing"
            .to_string();
    }
    if cases.is_empty() {
        return match run.skipped.len() {
            0 => "nothing is compared: the run has no cases".to_string(),
            1 => "nothing is compared: this machine cannot run the only case".to_string(),
            skipped => {
                format!("nothing is compared: this machine can run none of {skipped} cases")
            }
        };
    }
    let Some(baseline) = baseline_index(run) else {
        return format!(
            "nothing is compared: the baseline {} was not run",
            name(&run.baseline)
        );
    };
    if let Some(sentence) = as_printed(run, cases, comparisons, &cases[baseline]) {
        return sentence;
    }
    let baseline = &cases[baseline];
    // Controls are spoken of apart.
    let is_question = |it: &&Comparison| !cases[it.case_index].is_control;
    let comparisons: Vec<&Comparison> = comparisons.iter().filter(is_question).collect();
    match comparisons.as_slice() {
        [] => alone(run, baseline),
        [only] => of_two(run, baseline, &cases[only.case_index], only),
        _ => of_many(run, baseline, cases, &comparisons, winner),
    }
}

/// The figures of reports, where they are too few for an interval.
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
        format!("{} has {ratio} times", name(&it.case))
    });
    let mut listed: Vec<String> = listed.collect();
    if bare.len() > listed.len() {
        listed.push(format!("and {} more", bare.len() - listed.len()));
    }
    let reports = match cases.iter().all(|case| case.valid == 1) {
        true => "one report of each case carries no interval".to_string(),
        false => format!("fewer than {TRIALS_ENOUGH} reports of a case carry no interval"),
    };
    (!listed.is_empty()).then(|| {
        format!(
            "no winner is named, because {reports}; as printed, against {} with {} {}, {}",
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
            "{} {} {}{} ({} interval {} to {}, {}); nothing is compared",
            name(&case.name),
            facts.verb,
            shown(median),
            match facts.unit_in_words {
                "" if run.shown_unit() != facts.shown_unit => format!(" {}", run.shown_unit()),
                "" => String::new(),
                unit => format!(" {unit}"),
            },
            percent(common([interval])),
            shown(interval.low),
            shown(interval.high),
            trials(case.valid),
        ),
        _ => format!("undecided: {}", too_few(&[case])),
    }
}

fn of_two(
    run: &Run,
    baseline: &CaseJudgement,
    case: &CaseJudgement,
    comparison: &Comparison,
) -> String {
    match comparison.ratio {
        Some(ratio) => compared(case, baseline, ratio, comparison.verdict),
        None => undecided(run, &[baseline, case]),
    }
}

/// Of several cases: who wins, and how each compares with the baseline.
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
        None => "no case is significantly faster than all others".to_string(),
    };
    if baseline.valid < TRIALS_ENOUGH {
        let too_few = too_few(&[baseline]);
        return format!("{head}; nothing is compared with the baseline: {too_few}");
    }
    let mut compared: Vec<&Comparison> = comparisons.to_vec();
    let ratio_of = |it: &Comparison| {
        let ratio = it.ratio;
        ratio.map_or(f64::NEG_INFINITY, |it| merit(run.metric, it.ratio))
    };
    compared.sort_by(|a, b| ratio_of(b).total_cmp(&ratio_of(a)));
    let listed = compared.iter().take(COMPARISONS_LISTED);
    let mut listed: Vec<String> = listed.map(|it| listed_comparison(it)).collect();
    if compared.len() > listed.len() {
        listed.push(format!("and {} more", compared.len() - listed.len()));
    }
    let valid = comparisons
        .iter()
        .filter(|it| it.ratio.is_some())
        .map(|it| cases[it.case_index].valid)
        .chain([baseline.valid]);
    let (least, most) = valid.fold((usize::MAX, 0), |(least, most), count| {
        (least.min(count), most.max(count))
    });
    let trials = match least == most {
        true => format!("{} each", trials(most)),
        false => format!("{least} to {}", trials(most)),
    };
    let ratios = comparisons.iter().filter_map(|it| Some(it.ratio?.interval));
    format!(
        "{head}; compared with {}, {} ({} intervals, {trials})",
        name(&baseline.name),
        listed.join(", "),
        percent(common(ratios)),
    )
}

/// "A is 1.49 times faster [1.46 to 1.52]", one of a list.
fn listed_comparison(comparison: &Comparison) -> String {
    let case = name(&comparison.case);
    let Some(ratio) = comparison.ratio else {
        return format!("{case} is undecided");
    };
    let word = comparison.verdict.word();
    match comparison.verdict {
        Verdict::Faster | Verdict::Slower => {
            let RatioText { ratio, low, high } = seen(ratio);
            format!("{case} is {ratio} times {word} [{low} to {high}]")
        }
        _ => {
            let RatioText { low, high, .. } = RatioText::of(ratio);
            format!("{case} cannot be told apart [{low} to {high}]")
        }
    }
}

/// One of several cases is told apart from all others.
fn won(winner: &CaseJudgement, cases: &[CaseJudgement]) -> String {
    let is_question = |case: &&CaseJudgement| !case.is_control;
    let all = cases.iter().filter(is_question).count();
    let ranked = cases.iter().filter(is_question);
    let ranked = ranked.filter(|case| case.rank.is_some()).count();
    let of_all = match ranked == all {
        true => format!("{ranked} cases"),
        false => format!("{ranked} cases that can be ranked"),
    };
    format!("{} is fastest of {of_all}", name(&winner.name))
}

/// "A is 1.09 times slower than B (…)", or that no difference can be named.
fn compared(
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
                "no difference between {} and {} can be named: \
                 the {} interval of their ratio, {} to {}, includes 1 ({})",
                name(&case.name),
                name(&baseline.name),
                percent(common([ratio.interval])),
                text.low,
                text.high,
                trials_of(&[case, baseline]),
            )
        }
    }
}

/// "1.09 times slower than B (95 % interval 1.05 to 1.13, 5 trials each)".
fn times(than: &str, of: &[&CaseJudgement], ratio: Ratio, verdict: Verdict) -> String {
    let text = seen(ratio);
    format!(
        "{} times {} than {} ({} interval {} to {}, {})",
        text.ratio,
        verdict.word(),
        name(than),
        percent(common([ratio.interval])),
        text.low,
        text.high,
        trials_of(of),
    )
}

/// The ratio as the verdict says it: "1.09 times slower" is a ratio of rates of 0.92.
fn seen(ratio: Ratio) -> RatioText {
    RatioText::of(match ratio.ratio < 1.0 {
        true => ratio.inverse(),
        false => ratio,
    })
}

fn undecided(run: &Run, cases: &[&CaseJudgement]) -> String {
    let short: Vec<&CaseJudgement> = cases
        .iter()
        .filter(|case| case.valid < TRIALS_ENOUGH)
        .copied()
        .collect();
    let why = if short.is_empty() {
        "the values that were measured have no ratio".to_string()
    } else {
        too_few(&short)
    };
    match run.status {
        RunStatus::Interrupted => format!("undecided, because the run was interrupted: {why}"),
        RunStatus::Unfinished => format!("undecided, because the run has not ended: {why}"),
        RunStatus::Failed => format!("undecided, because the run failed: {why}"),
        RunStatus::Settled | RunStatus::Bounded | RunStatus::Imported => {
            format!("undecided: {why}")
        }
    }
}

/// "A has 3 valid trials of 5, and 5 are needed".
fn too_few(cases: &[&CaseJudgement]) -> String {
    let have: Vec<String> = cases
        .iter()
        .map(|case| {
            let name = name(&case.name);
            format!("{name} has {} of {}", valid(case.valid), case.trials())
        })
        .collect();
    format!("{}, and {TRIALS_ENOUGH} are needed", have.join(", "))
}

fn valid(count: usize) -> String {
    match count {
        1 => "1 valid trial".to_string(),
        count => format!("{count} valid trials"),
    }
}

fn trials(count: usize) -> String {
    match count {
        1 => "1 trial".to_string(),
        count => format!("{count} trials"),
    }
}

/// "5 trials each", or "5 and 6 trials".
fn trials_of(cases: &[&CaseJudgement]) -> String {
    match cases {
        [a, b] if a.valid == b.valid => format!("{} each", trials(a.valid)),
        [a, b] => format!("{} and {}", a.valid, trials(b.valid)),
        _ => trials(cases.iter().map(|case| case.valid).sum()),
    }
}

fn name(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_string(),
    }
}
