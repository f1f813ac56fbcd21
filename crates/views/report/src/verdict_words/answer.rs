//! The answer of a run as the top of a page gives it: one short sentence, and how sure it is. The
//! whole verdict is in `sentence`.

use model::Run;
use verdict::{Comparison, Judgement, Verdict, baseline_index, is_emulated, merit};

use crate::run::figures::{BARE_PLACES, RatioText, confidence_percent, decimals};
use crate::run::status::ended;
use crate::verdict_words::names::{name, trials};
use crate::verdict_words::sentence::{seen, shared, verdict_sentence, won};

/// Maximum number of words of an answer: what is read at a glance.
pub const ANSWER_WORDS: usize = 25;

/// Returns the verdict, if it is short; else its most important comparison.
pub(crate) fn answer(run: &Run, judgement: &Judgement) -> String {
    let verdict = verdict_sentence(run, judgement);
    if words(&verdict) <= ANSWER_WORDS {
        return verdict;
    }
    let short = of_many(run, judgement).or_else(|| as_printed(judgement));
    shortened(&short.unwrap_or(verdict))
}

/// Returns how sure the answer is: the confidence, the number of trials, and why there are no more.
pub(crate) fn sureness(run: &Run, judgement: &Judgement) -> String {
    if is_emulated(run) {
        return "speeds mean nothing".to_string();
    }
    let has_interval = judgement
        .cases
        .iter()
        .any(|case| case.shown_interval.is_some());
    let intervals = match has_interval {
        true => format!("{} intervals", confidence_percent(judgement.confidence())),
        false => "no interval".to_string(),
    };
    let valid = judgement.cases.iter().map(|case| case.valid);
    let trials = match (valid.clone().min(), valid.max()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {}", trials(most)),
        (_, most) => trials(most.unwrap_or(0)),
    };
    let ended = ended(run.status);
    format!("{intervals}, {trials} of each case, {ended}")
}

/// Returns the winner and its distance from the baseline, or from the next if it is the baseline;
/// without a winner, the largest difference from the baseline.
fn of_many(run: &Run, judgement: &Judgement) -> Option<String> {
    let cases = &judgement.cases;
    let baseline = &cases[baseline_index(run)?];
    let ratio_of = |it: &&Comparison| {
        let ratio = it.ratio;
        ratio.map_or(f64::NEG_INFINITY, |it| merit(run.metric, it.ratio))
    };
    let compared = judgement.comparisons.iter();
    let compared = compared.filter(|it| it.ratio.is_some() && !cases[it.case_index].is_control);
    let decided = |it: &&Comparison| matches!(it.verdict, Verdict::Faster | Verdict::Slower);
    let nearest = |a: &&Comparison, b: &&Comparison| ratio_of(a).total_cmp(&ratio_of(b));
    match judgement.winner.map(|index| &cases[index]) {
        Some(winner) if winner.name == baseline.name => {
            let next = compared.filter(decided).max_by(nearest)?;
            let next = difference(next, &format!("{}, the next,", name(&next.case)))?;
            Some(format!("{}: {next}", won(winner, cases)))
        }
        Some(winner) => {
            let won = won(winner, cases);
            let mut compared = compared.filter(decided);
            let own = compared.find(|it| it.case == winner.name)?;
            let times = difference(own, "it")?;
            Some(format!("{won}: {times} than {}", name(&baseline.name)))
        }
        None => {
            let distance = |it: &&Comparison| ratio_of(it).ln().abs();
            let farther = |a: &&Comparison, b: &&Comparison| distance(a).total_cmp(&distance(b));
            let farthest = compared.filter(decided).max_by(farther)?;
            let said = difference(farthest, &name(&farthest.case))?;
            let shared = shared(cases);
            Some(format!("{shared}; {said} than {}", name(&baseline.name)))
        }
    }
}

/// Returns the largest of the printed figures of reports that are too few for intervals.
fn as_printed(judgement: &Judgement) -> Option<String> {
    let bare = judgement.comparisons.iter();
    let bare = bare.filter_map(|it| Some((it, it.bare_ratio?)));
    let distance = |ratio: f64| ratio.ln().abs();
    let (farthest, ratio) = bare.max_by(|a, b| distance(a.1).total_cmp(&distance(b.1)))?;
    Some(format!(
        "no winner without intervals; by the printed figures, {} has {} times {}",
        name(&farthest.case),
        decimals(ratio, BARE_PLACES),
        name(&farthest.baseline),
    ))
}

/// Returns "A is 1.11 times slower [1.06 to 1.18]".
fn difference(comparison: &Comparison, case: &str) -> Option<String> {
    let RatioText { ratio, low, high } = seen(comparison.ratio?);
    let word = comparison.verdict.word();
    Some(format!("{case} is {ratio} times {word} [{low} to {high}]"))
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Returns as many parts of a sentence as are short enough together, else its first words.
pub(crate) fn shortened(sentence: &str) -> String {
    let ends = sentence.match_indices("; ").map(|(at, _)| at);
    let ends: Vec<usize> = ends.chain([sentence.len()]).collect();
    let fits = |end: &&usize| words(&sentence[..**end]) <= ANSWER_WORDS;
    match ends.iter().rev().find(fits) {
        Some(end) => sentence[..*end].to_string(),
        None => {
            let first = sentence.split_whitespace().take(ANSWER_WORDS);
            first.collect::<Vec<_>>().join(" ") + "…"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_sentence_ends_where_a_part_of_it_does() {
        let check = |sentence: &str, expected: &str| assert_eq!(shortened(sentence), expected);
        check("a; b", "a; b");
        let many = "word ".repeat(30);
        check(&format!("no winner; {many}"), "no winner");
        let first = "word ".repeat(25);
        check(&many, &(first.trim_end().to_owned() + "…"));
    }
}
