//! The ranking: what each case did, how sure that is, and against the baseline.

use model::{Metric, Run, RunStatus};

use crate::judgement::{CaseJudgement, Comparison, Judgement, merit};
use crate::run_figures::{RatioText, UNKNOWN, decimals, value};
use crate::run_plain::plain_within;
use crate::run_style::{Style, TextOptions};
use crate::run_table::{Side, Table};

/// Decimals of a ratio without interval: as many as tell 10.4 % from 10.5 %.
pub(crate) const BARE_PLACES: usize = 3;

/// Columns of a case's name in a table; the whole name heads its section.
pub(crate) const NAME_COLUMNS: usize = 24;

/// The ranking, with the comparison beside it or, on a narrow terminal, below it.
pub(crate) fn ranking(run: &Run, judgement: &Judgement, options: &TextOptions) -> String {
    let whole = table(run, judgement, true);
    if whole.width() <= options.columns() || judgement.comparisons.is_empty() {
        return whole.text(options);
    }
    let ranked = table(run, judgement, false).text(options);
    format!("{ranked}\n{}", comparisons(run, judgement, options))
}

/// Indices of the cases by rank and then by median; without ranks as in the run, but figures that
/// were imported by their medians, as others have published them.
pub(crate) fn order(run: &Run, judgement: &Judgement) -> Vec<usize> {
    let mut order: Vec<usize> = (0..judgement.cases.len()).collect();
    let cases = &judgement.cases;
    if cases.iter().any(|case| case.rank.is_some()) || run.status == RunStatus::Imported {
        order.sort_by(|a, b| {
            let rank = |index: &usize| cases[*index].rank.unwrap_or(u32::MAX);
            let merit = |index: &usize| {
                let median = cases[*index].median;
                median.map_or(f64::NEG_INFINITY, |median| merit(run.metric, median))
            };
            rank(a).cmp(&rank(b)).then(merit(b).total_cmp(&merit(a)))
        });
    }
    order
}

fn table(run: &Run, judgement: &Judgement, compared: bool) -> Table {
    let mut columns = vec![
        ("rank", Side::Right),
        ("case", Side::Left),
        (run.shown_unit(), Side::Right),
        ("95 % interval", Side::Right),
        ("valid", Side::Right),
    ];
    let against = against(run);
    if compared {
        columns.push((&against, Side::Left));
        columns.push(("verdict", Side::Left));
    }
    let mut table = Table::new(&columns);
    for index in order(run, judgement) {
        let case = &judgement.cases[index];
        let mut row = figures(run.metric, case);
        if compared {
            let comparison = judgement.comparisons.iter();
            let comparison = comparison.clone().find(|it| it.case_index == index);
            row.extend(comparison_cells(run, case, comparison));
        }
        table.push(row);
    }
    table
}

fn figures(metric: Metric, case: &CaseJudgement) -> Vec<(String, Style)> {
    let unknown = || UNKNOWN.to_string();
    let interval = case.interval.map(|it| {
        let (low, high) = (value(metric, it.low), value(metric, it.high));
        format!("{low} to {high}")
    });
    let style = match case.rank {
        Some(1) => Style::Strong,
        _ => Style::Usual,
    };
    let valid_style = if case.valid < case.trials() {
        Style::Care
    } else {
        Style::Usual
    };
    vec![
        (
            case.rank.map_or_else(unknown, |rank| rank.to_string()),
            style,
        ),
        (plain_within(&case.name, NAME_COLUMNS), style),
        (
            case.median.map_or_else(unknown, |it| value(metric, it)),
            style,
        ),
        (interval.unwrap_or_else(unknown), Style::Usual),
        (format!("{} of {}", case.valid, case.trials()), valid_style),
    ]
}

fn comparison_cells(
    run: &Run,
    case: &CaseJudgement,
    comparison: Option<&Comparison>,
) -> [(String, Style); 2] {
    let control = if case.is_control { " (control)" } else { "" };
    match comparison {
        Some(comparison) => [
            (ratio_text(comparison), Style::Usual),
            (
                format!("{}{control}", comparison.verdict.word()),
                Style::of(comparison.verdict),
            ),
        ],
        None if case.name == run.baseline => [
            ("1".to_string(), Style::Usual),
            ("baseline".to_string(), Style::Usual),
        ],
        None => [
            (UNKNOWN.to_string(), Style::Usual),
            (UNKNOWN.to_string(), Style::Usual),
        ],
    }
}

fn comparisons(run: &Run, judgement: &Judgement, options: &TextOptions) -> String {
    let against = against(run);
    let mut table = Table::new(&[
        ("case", Side::Left),
        (&against, Side::Left),
        ("verdict", Side::Left),
    ]);
    for comparison in &judgement.comparisons {
        let name = plain_within(&comparison.case, NAME_COLUMNS);
        let mut row = vec![(name, Style::Usual)];
        let case = &judgement.cases[comparison.case_index];
        row.extend(comparison_cells(run, case, Some(comparison)));
        table.push(row);
    }
    table.text(options)
}

/// Title of the column of ratios.
fn against(run: &Run) -> String {
    format!("times {}", plain_within(&run.baseline, NAME_COLUMNS))
}

/// `1.49 (1.47 to 1.51)`.
fn ratio_text(comparison: &Comparison) -> String {
    match (comparison.ratio, comparison.bare_ratio) {
        (Some(ratio), _) => {
            let RatioText { ratio, low, high } = RatioText::of(ratio);
            format!("{ratio} ({low} to {high})")
        }
        (None, Some(bare)) => format!("{} (no interval)", decimals(bare, BARE_PLACES)),
        (None, None) => UNKNOWN.to_string(),
    }
}
