//! What there is to see of a comparison: its figures in the words and with the digits of the text.
//! Names and messages are as they were recorded; who shows them escapes them.

use model::{Run, counted};
use verdict::{ComparedCase, ComparedPair, Ratio, RunComparison, Verdict, common};

use crate::comparison::text::{caveat_sentences, estimate, figure_text, sentence, table_of, times};
use crate::form::table::{Side, Table};
use crate::run::figures::{RatioText, UNKNOWN, confidence_percent, value};
use crate::run::ranking::middle;
use crate::run::view::{CaseView, RunView, run_view};
use crate::verdict_words::answer::shortened;
use crate::verdict_words::names::name;

/// What there is to see of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonView {
    /// What follows: the sentence of the only pair, or how many pairs have which verdict.
    pub verdict: String,
    /// The verdict with the pair that differs most, in at most [`ANSWER_WORDS`] words where names
    /// are short.
    ///
    /// [`ANSWER_WORDS`]: crate::ANSWER_WORDS
    pub answer: String,
    /// Warnings, one sentence each.
    pub warnings: Vec<String>,
    /// The unit of the figures.
    pub unit: String,
    /// The confidence of the intervals, such as `95 %`; `None` where no pair has one.
    pub confidence: Option<String>,
    /// What the figures of cases are, such as `medians of trials`.
    pub estimate: &'static str,
    /// The confidence of the intervals of figures.
    pub confidence_of_figures: String,
    /// The pairs of cases.
    pub pairs: Vec<PairView>,
    /// Cases that only the first has.
    pub only_first: Vec<String>,
    /// Cases that only the second has.
    pub only_second: Vec<String>,
    /// The first and the second run.
    pub runs: [ComparedRun; 2],
    /// Whether speeds mean nothing, because a machine is emulated.
    pub is_emulated: bool,
}

impl ComparisonView {
    /// The table of the pairs.
    pub fn table(&self) -> Table {
        let times = match &self.confidence {
            Some(confidence) => &format!("times, {confidence} interval"),
            None => "times",
        };
        table_of(&self.unit, (times, Side::Right))
            .with(self.pairs.iter().map(|pair| pair.cells.to_vec()))
    }
}

/// What there is to see of a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct PairView {
    /// The cells of its row: both cases with their figures, ratio with interval, verdict.
    pub cells: [String; 6],
    /// The verdict on the second.
    pub verdict: Verdict,
    /// What follows from the ratio.
    pub sentence: String,
    /// Both cases with their trials; their ratios are to the baselines of their own runs.
    pub cases: [CaseView; 2],
}

/// What there is to see of one of the two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedRun {
    /// Its id.
    pub id: String,
    /// The question of its experiment.
    pub question: String,
    /// Its host and when it started, as in [`RunView`].
    pub host: Option<String>,
    /// See `host`.
    pub started: String,
    /// What it is, in named values: question, machine, method and which run it is.
    pub facts: [(&'static str, String); 5],
    /// Its own warnings.
    pub warnings: Vec<String>,
    /// The definition of its experiment.
    pub definition: String,
}

/// Returns what there is to see of a comparison of these two runs.
pub fn comparison_view(found: &RunComparison, first: &Run, second: &Run) -> ComparisonView {
    let views = [run_view(first), run_view(second)];
    let pairs = found.pairs.iter();
    let intervals = found.pairs.iter().filter_map(|it| Some(it.ratio?.interval));
    let has_interval = found.pairs.iter().any(|it| it.ratio.is_some());
    ComparisonView {
        verdict: verdict(found),
        answer: answer(found),
        warnings: caveat_sentences(found),
        unit: views[0].unit.clone(),
        confidence: has_interval.then(|| confidence_percent(common(intervals))),
        estimate: estimate(found),
        confidence_of_figures: views[0].confidence.clone(),
        pairs: pairs
            .filter_map(|pair| pair_view(found, pair, &views))
            .collect(),
        only_first: found.only_first.clone(),
        only_second: found.only_second.clone(),
        is_emulated: views.iter().any(|view| view.is_emulated),
        runs: views.map(compared_run),
    }
}

fn verdict(found: &RunComparison) -> String {
    match found.pairs.as_slice() {
        [pair] => sentence(found.metric, pair),
        pairs => format!(
            "Of {} that both have, the second is: {}",
            counted(pairs.len(), "case"),
            counts(found)
        ),
    }
}

/// How many pairs have which verdict.
fn counts(found: &RunComparison) -> String {
    let counts = Verdict::TABLE.iter().filter_map(|(verdict, word, _)| {
        let pairs = found.pairs.iter().filter(|it| it.verdict == *verdict);
        let count = pairs.count();
        (count > 0).then(|| format!("{count} {word}"))
    });
    counts.collect::<Vec<String>>().join(", ")
}

/// The only pair, or the verdicts and the pair that differs most.
fn answer(found: &RunComparison) -> String {
    let ratios = found.pairs.iter();
    let ratios = ratios.filter_map(|pair| Some((&pair.second.case, pair.ratio?)));
    let distance = |ratio: Ratio| ratio.ratio.ln().abs();
    let farthest = ratios.max_by(|(_, a), (_, b)| distance(*a).total_cmp(&distance(*b)));
    match farthest.filter(|_| found.pairs.len() > 1) {
        Some((case, ratio)) => {
            let RatioText { ratio, low, high } = RatioText::of(ratio);
            format!(
                "Of {}, {}; {} differs most: {ratio} times [{low} to {high}]",
                counted(found.pairs.len(), "case"),
                counts(found),
                name(case),
            )
        }
        None => shortened(&verdict(found)),
    }
}

fn pair_view(
    found: &RunComparison,
    pair: &ComparedPair,
    [first, second]: &[RunView; 2],
) -> Option<PairView> {
    let metric = found.metric;
    Some(PairView {
        cells: [
            pair.first.case.clone(),
            figure_text(metric, &pair.first),
            pair.second.case.clone(),
            figure_text(metric, &pair.second),
            times(pair),
            pair.verdict.word().to_owned(),
        ],
        verdict: pair.verdict,
        sentence: sentence(metric, pair),
        cases: [
            case_view(found, first, &pair.first)?,
            case_view(found, second, &pair.second)?,
        ],
    })
}

/// The case of a run by the figure that is compared, which need not be that of its own page.
fn case_view(found: &RunComparison, view: &RunView, compared: &ComparedCase) -> Option<CaseView> {
    let case = view.cases.iter().find(|it| it.name == compared.case)?;
    let shown = |figure: f64| Some(figure / view.unit_is).filter(|it| it.is_finite());
    let ends = compared.shown_interval.map(|it| [it.low, it.high]);
    let interval = ends.map(|ends| ends.map(|end| value(found.metric, end)).join(" to "));
    Some(CaseView {
        median: figure_text(found.metric, compared),
        middle: middle(found.is_of_rounds),
        interval: interval.unwrap_or_else(|| UNKNOWN.to_owned()),
        median_value: compared.shown.and_then(shown),
        interval_values: ends.and_then(|[low, high]| shown(low).zip(shown(high))),
        ..case.clone()
    })
}

fn compared_run(view: RunView) -> ComparedRun {
    let method = view.method.unwrap_or_else(|| "unknown".to_owned());
    ComparedRun {
        id: view.id,
        question: view.question.clone(),
        host: view.host,
        started: view.started,
        facts: [
            ("run", view.which),
            ("experiment", view.experiment),
            ("question", view.question),
            ("machine", view.machine),
            ("method", method),
        ],
        warnings: view.warnings,
        definition: view.definition,
    }
}
