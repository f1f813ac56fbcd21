//! A comparison of two runs, as text and as the document `numalab.compare/1`.

use model::Metric;
use serde::Serialize;
use verdict::{
    Caveat, ComparedCase, ComparedPair, Ratio, RunComparison, TRIALS_ENOUGH, Verdict, common,
};

use crate::form::plain::plain_within;
use crate::form::style::{Style, TextOptions};
use crate::form::table::{Side, Table};
use crate::run::figures::{BARE_PLACES, RatioText, UNKNOWN, confidence_percent, decimals, value};
use crate::run::licence::{LicenceTerms, Licensed, licence_row, licence_table};
use crate::run::ranking::{NAME_COLUMNS, middle};
use crate::verdict_words::names::EMULATED_COST;

/// Name and version of the document.
pub(crate) const COMPARE_FORMAT: &str = "numalab.compare/1";

/// The licences of a comparison: the terms, and the cores of both machines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LicencesCompared {
    /// The terms.
    pub terms: LicenceTerms,
    /// Cores of the machine of the first and of the second.
    pub cores: [u32; 2],
}

/// What affects how far a comparison can be trusted, one sentence each.
pub(crate) fn caveat_sentences(found: &RunComparison) -> Vec<String> {
    let host = |host: &Option<String>| match host {
        Some(host) => host.clone(),
        None => "a host that is not named".to_owned(),
    };
    let sentence = |caveat: &Caveat| match caveat {
        Caveat::DifferentMachines(first, second) => {
            let (first, second) = (host(first), host(second));
            format!("the runs are of different machines: {first} and {second}")
        }
        Caveat::EmulatedCost => EMULATED_COST.to_owned(),
        Caveat::NotSideBySide => {
            "the two did not run side by side: the ratio includes whatever changed between them"
                .to_owned()
        }
        Caveat::DifferentExperiments(first, second) => {
            format!("the runs are of different experiments: {first} and {second}")
        }
        Caveat::Imported => format!(
            "fewer than {TRIALS_ENOUGH} imported trials of a case give no interval, and without \
             one there is no winner"
        ),
    };
    found.caveats.iter().map(sentence).collect()
}

/// Formats the comparison.
pub fn comparison_text(
    found: &RunComparison,
    licences: Option<&LicencesCompared>,
    options: &TextOptions,
) -> String {
    let mut text: String = caveat_sentences(found)
        .iter()
        .map(|warning| options.paragraph("warning: ", warning, Style::Care))
        .collect();
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&match of_same_cases(found) {
        Some(runs) => table_of_same_cases(found, runs, options),
        None => table(found).text(options),
    });
    for (cases, whose) in [(&found.only_first, "first"), (&found.only_second, "second")] {
        if !cases.is_empty() {
            let line = format!("only in the {whose}: {}", cases.join(", "));
            text.push_str(&options.paragraph("", &line, Style::Care));
        }
    }
    if let Some(licences) = licences {
        text.push('\n');
        text.push_str(&licences_compared(found, licences).text(options));
    }
    text.push('\n');
    if let [pair] = &found.pairs[..] {
        let sentence = sentence(found.metric, pair);
        text.push_str(&options.paragraph("", &sentence, Style::of(pair.verdict)));
        return text;
    }
    // The table has said the rest.
    for (verdict, word, _) in Verdict::TABLE {
        let pairs = found.pairs.iter().filter(|it| it.verdict == verdict);
        let names: Vec<String> = pairs.map(|it| named(&it.second.case)).collect();
        if !names.is_empty() {
            let line = format!("{word}: {}", names.join(", "));
            text.push_str(&options.paragraph("", &line, Style::of(verdict)));
        }
    }
    text
}

fn named(case: &str) -> String {
    plain_within(case, NAME_COLUMNS)
}

/// The runs of all pairs, if these are pairs of the same cases.
fn of_same_cases(found: &RunComparison) -> Option<[&str; 2]> {
    let runs = |it: &'_ ComparedPair| [it.first.run.clone(), it.second.run.clone()];
    let first = found.pairs.first()?;
    let is_alike = |it: &ComparedPair| it.first.case == it.second.case && runs(it) == runs(first);
    let alike = found.pairs.len() > 1 && found.pairs.iter().all(is_alike);
    alike.then_some([&first.first.run, &first.second.run])
}

/// Pairs of the same cases of two runs, which are named above the table.
fn table_of_same_cases(
    found: &RunComparison,
    [first, second]: [&str; 2],
    options: &TextOptions,
) -> String {
    let unit = found.metric.facts().shown_unit;
    let intervals = found.pairs.iter().filter_map(|it| it.ratio);
    let sure = match found.pairs.iter().any(|it| it.ratio.is_some()) {
        true => format!(
            ", and how many times as much the second has, with its {} interval",
            confidence_percent(common(intervals.map(|it| it.interval)))
        ),
        false => String::new(),
    };
    let title = format!("{unit} of {first} and of {second}{sure}");
    let mut text = options.paragraph("", &title, Style::Usual);
    text.push('\n');
    let mut table = Table::of("case|>first|>second|times|verdict");
    for pair in &found.pairs {
        table.push(vec![
            (named(&pair.first.case), Style::Usual),
            (figure_text(found.metric, &pair.first), Style::Usual),
            (figure_text(found.metric, &pair.second), Style::Usual),
            (times(pair), Style::Usual),
            (pair.verdict.word().to_string(), Style::of(pair.verdict)),
        ]);
    }
    text.push_str(&table.text(options));
    text
}

fn table(found: &RunComparison) -> Table {
    let mut table = table_of(found.metric.facts().shown_unit, ("times", Side::Left));
    for pair in &found.pairs {
        let of = |case: &ComparedCase| {
            let name = plain_within(&case.case, NAME_COLUMNS);
            let figure = figure_text(found.metric, case);
            [(name, Style::Usual), (figure, Style::Usual)]
        };
        let mut row: Vec<(String, Style)> = of(&pair.first).into_iter().collect();
        row.extend(of(&pair.second));
        row.push((times(pair), Style::Usual));
        row.push((pair.verdict.word().to_string(), Style::of(pair.verdict)));
        table.push(row);
    }
    table
}

/// The table of pairs, without rows.
pub(crate) fn table_of(unit: &str, times: (&str, Side)) -> Table {
    Table::new(&[
        ("first", Side::Left),
        (unit, Side::Right),
        ("second", Side::Left),
        (unit, Side::Right),
        times,
        ("verdict", Side::Left),
    ])
}

/// The figure of a case in the unit shown.
pub(crate) fn figure_text(metric: Metric, case: &ComparedCase) -> String {
    let shown = case.shown.map(|it| value(metric, it));
    shown.unwrap_or_else(|| UNKNOWN.to_string())
}

/// What the figures of cases are.
pub(crate) fn estimate(found: &RunComparison) -> &'static str {
    match found.is_of_rounds {
        true => "geometric means of rounds",
        false => "medians of trials",
    }
}

/// The ratio of a pair with its interval, or that there is none.
pub(crate) fn times(pair: &ComparedPair) -> String {
    match (pair.ratio, pair.bare_ratio) {
        (Some(ratio), _) => with_interval(ratio),
        (None, Some(bare)) => format!("{} (no interval)", decimals(bare, BARE_PLACES)),
        (None, None) => UNKNOWN.to_string(),
    }
}

fn with_interval(ratio: Ratio) -> String {
    let RatioText { ratio, low, high } = RatioText::of(ratio);
    format!("{ratio} ({low} to {high})")
}

/// Says of a pair what follows from its ratio.
pub(crate) fn sentence(metric: Metric, pair: &ComparedPair) -> String {
    let name = |case: &ComparedCase| format!("{}:{}", case.run, case.case);
    let (first, second) = (name(&pair.first), name(&pair.second));
    let ratio = pair.ratio.map(|it| it.ratio).or(pair.bare_ratio);
    let percent = ratio.map(|ratio| decimals(100.0 * (ratio - 1.0).abs(), 1));
    let (Some(ratio), Some(percent)) = (ratio, percent) else {
        return format!("{second} and {first}: {}", pair.verdict.meaning());
    };
    let more = if ratio >= 1.0 { "more" } else { "less" };
    let unit = metric.facts().shown_unit;
    let sure = match pair.ratio {
        Some(ratio) => format!(
            "{} times, {} interval",
            with_interval(ratio),
            confidence_percent(common([ratio.interval]))
        ),
        None if pair.first.trials.max(pair.second.trials) == 1 => {
            "one repetition of each gives no interval, so there is no winner".to_string()
        }
        None => "too few repetitions for an interval, so there is no winner".to_string(),
    };
    format!("{second} has {percent} % {more} {unit} than {first} ({sure})")
}

fn licences_compared(found: &RunComparison, licences: &LicencesCompared) -> Table {
    let mut table = licence_table();
    for pair in &found.pairs {
        for (case, cores) in [&pair.first, &pair.second].into_iter().zip(licences.cores) {
            let licensed = case.median.and_then(|it| licences.terms.of(it, cores));
            table.push(licence_row(&case.case, licensed));
        }
    }
    table
}

/// The document. The order of the fields here is their order in the document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompareDocument {
    format: &'static str,
    metric: &'static str,
    confidence: f64,
    shown_is: &'static str,
    comparisons: Vec<PairDocument>,
    only_first: Vec<String>,
    only_second: Vec<String>,
    warnings: Vec<String>,
    fail_below: Option<f64>,
    failed: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct PairDocument {
    baseline: String,
    baseline_run: String,
    baseline_median: Option<f64>,
    baseline_shown: Option<f64>,
    case: String,
    run: String,
    median: Option<f64>,
    shown: Option<f64>,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    verdict: &'static str,
    baseline_licences: Option<Licensed>,
    licences: Option<Licensed>,
}

/// Returns the document of a comparison, with the limit it was checked against.
pub fn compare_document(
    found: &RunComparison,
    licences: Option<&LicencesCompared>,
    fail_below: Option<f64>,
) -> CompareDocument {
    let licensed = |case: &ComparedCase, which: usize| {
        let licences = licences?;
        licences.terms.of(case.median?, licences.cores[which])
    };
    let pairs = found.pairs.iter().map(|pair| PairDocument {
        baseline: pair.first.case.clone(),
        baseline_run: pair.first.run.clone(),
        baseline_median: pair.first.median,
        baseline_shown: pair.first.shown,
        case: pair.second.case.clone(),
        run: pair.second.run.clone(),
        median: pair.second.median,
        shown: pair.second.shown,
        ratio: pair.ratio.map(|it| it.ratio).or(pair.bare_ratio),
        low: pair.ratio.map(|it| it.interval.low),
        high: pair.ratio.map(|it| it.interval.high),
        verdict: pair.verdict.word(),
        baseline_licences: licensed(&pair.first, 0),
        licences: licensed(&pair.second, 1),
    });
    let is_below = |limit: f64| {
        found
            .pairs
            .iter()
            .any(|it| it.is_below(found.metric, limit))
    };
    CompareDocument {
        format: COMPARE_FORMAT,
        metric: found.metric.name(),
        confidence: common(found.pairs.iter().filter_map(|it| Some(it.ratio?.interval))),
        shown_is: middle(found.is_of_rounds),
        comparisons: pairs.collect(),
        only_first: found.only_first.clone(),
        only_second: found.only_second.clone(),
        warnings: caveat_sentences(found),
        fail_below,
        failed: fail_below.is_some_and(is_below),
    }
}
