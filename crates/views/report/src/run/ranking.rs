//! The ranking: the median of each case, its interval, and its ratio to the baseline.

use model::{Metric, Run};
use stats::Rank;
use verdict::{
    CaseJudgement, Comparison, Judgement, Ratio, Verdict, baseline_index, cost, is_load_sweep,
    order,
};

use crate::form::plain::plain_within;
use crate::form::style::{Style, TextOptions};
use crate::form::table::{Side, Table};
use crate::run::figures::{
    BARE_PLACES, RatioText, UNKNOWN, confidence_percent, decimals, unit, value,
};

/// Maximum width of a case's name in a table, in columns; its section has the whole name.
pub(crate) const NAME_COLUMNS: usize = 24;

/// Formats the ranking, with the comparison beside it or, on a narrow terminal, below it.
pub(crate) fn ranking(run: &Run, judgement: &Judgement, options: &TextOptions) -> String {
    let whole = table(run, judgement, !is_load_sweep(run));
    if whole.width() <= options.columns() || judgement.comparisons.is_empty() {
        return whole.text(options);
    }
    let ranked = table(run, judgement, false).text(options);
    format!("{ranked}\n{}", comparisons(run, judgement, options))
}

fn table(run: &Run, judgement: &Judgement, compared: bool) -> Table {
    let interval = format!("{} interval", confidence_percent(judgement.confidence()));
    let unit = unit(run);
    let mut columns = vec![
        ("rank", Side::Right),
        ("case", Side::Left),
        (unit.as_str(), Side::Right),
        (interval.as_str(), Side::Right),
        ("valid", Side::Right),
    ];
    let (against, has_costs) = (against(run), has_costs(run));
    if compared {
        columns.extend(comparison_columns(&against, has_costs));
    }
    let mut table = Table::new(&columns);
    for index in order(run, judgement) {
        let case = &judgement.cases[index];
        let mut row = figures(run.metric, case);
        if compared {
            row.extend(comparison_row(run, judgement, index, has_costs));
        }
        table.push(row);
    }
    table
}

/// The title of the column with CPU time per logical read, as a multiple of the baseline's.
pub(crate) const COST: &str = "CPU time per read";

/// Whether CPU time per read is compared beside throughput: where cases differ in their memory, it
/// is what a placement changes, and throughput follows.
pub(crate) fn has_costs(run: &Run) -> bool {
    let memory = |index: usize| {
        let plan = &run.cases[index].plan;
        let sga = plan.logical_reads().map(|work| &work.sga);
        (&plan.placement.memory_nodes, sga)
    };
    baseline_index(run).is_some_and(|baseline| {
        let mut others = (0..run.cases.len()).filter(|index| memory(*index) != memory(baseline));
        others.any(|index| cost(run, index, baseline).is_some())
    })
}

fn comparison_columns(against: &str, has_costs: bool) -> Vec<(&str, Side)> {
    let mut columns = vec![(against, Side::Left), ("verdict", Side::Left)];
    if has_costs {
        columns.insert(1, (COST, Side::Left));
    }
    columns
}

fn comparison_row(
    run: &Run,
    judgement: &Judgement,
    index: usize,
    has_costs: bool,
) -> Vec<(String, Style)> {
    let mut row = comparison_cells(run, judgement, index).to_vec();
    if has_costs {
        row.insert(1, (cost_text(judgement, index), Style::Usual));
    }
    row
}

/// Formats CPU time per read as a multiple of the baseline's: `1.49 (1.47 to 1.51)`.
pub(crate) fn cost_text(judgement: &Judgement, index: usize) -> String {
    let mut comparisons = judgement.comparisons.iter();
    let comparison = comparisons.find(|it| it.case_index == index);
    match comparison.map(|it| it.cost) {
        Some(Some(cost)) => ratio_and_interval(cost),
        Some(None) => UNKNOWN.to_string(),
        None => "1".to_string(),
    }
}

/// Returns rank, name, figure, interval and count of valid trials of a case.
pub(crate) fn figures(metric: Metric, case: &CaseJudgement) -> Vec<(String, Style)> {
    let unknown = || UNKNOWN.to_string();
    let interval = case.shown_interval.map(|it| {
        let (low, high) = (value(metric, it.low), value(metric, it.high));
        format!("{low} to {high}")
    });
    let style = match case.rank {
        Some(rank) if rank.best == 1 => Style::Strong,
        _ => Style::Usual,
    };
    let valid_style = if case.valid < case.trials() {
        Style::Care
    } else {
        Style::Usual
    };
    vec![
        (case.rank.map_or_else(unknown, rank_text), style),
        (plain_within(&case.name, NAME_COLUMNS), style),
        (
            case.shown.map_or_else(unknown, |it| value(metric, it)),
            style,
        ),
        (interval.unwrap_or_else(unknown), Style::Usual),
        (format!("{} of {}", case.valid, case.trials()), valid_style),
    ]
}

/// What the figures of cases are.
pub(crate) fn middle(is_of_rounds: bool) -> &'static str {
    match is_of_rounds {
        true => "mean",
        false => "median",
    }
}

/// Formats a rank: `2`, or `2-4` for a range.
pub(crate) fn rank_text(rank: Rank) -> String {
    match rank.best == rank.worst {
        true => rank.best.to_string(),
        false => format!("{}-{}", rank.best, rank.worst),
    }
}

/// Returns the ratio of a case to the baseline and the verdict; for a control, the verdict is that
/// against the case it repeats.
pub(crate) fn comparison_cells(
    run: &Run,
    judgement: &Judgement,
    index: usize,
) -> [(String, Style); 2] {
    let mut comparisons = judgement.comparisons.iter();
    let comparison = comparisons.find(|it| it.case_index == index);
    let control = judgement.controls.iter().find(|it| it.case_index == index);
    let case = &judgement.cases[index];
    match (comparison, control) {
        (Some(comparison), Some(control)) => {
            let of = plain_within(&judgement.cases[control.of_index].name, NAME_COLUMNS);
            let word = control.verdict.word();
            let said = format!("control of {of}: {word}");
            // A control that differs is a problem in either direction.
            let style = match control.verdict {
                Verdict::Faster | Verdict::Slower => Style::Care,
                verdict => Style::of(verdict),
            };
            [(ratio_text(comparison), Style::Usual), (said, style)]
        }
        (Some(comparison), None) => [
            (ratio_text(comparison), Style::Usual),
            (
                comparison.verdict.word().to_string(),
                Style::of(comparison.verdict),
            ),
        ],
        (None, _) if case.name == run.baseline => [
            ("1".to_string(), Style::Usual),
            ("baseline".to_string(), Style::Usual),
        ],
        (None, _) => [
            (UNKNOWN.to_string(), Style::Usual),
            (UNKNOWN.to_string(), Style::Usual),
        ],
    }
}

/// The comparisons, with costs beside or, where there is no room, below them.
fn comparisons(run: &Run, judgement: &Judgement, options: &TextOptions) -> String {
    let has_costs = has_costs(run);
    let whole = comparison_table(run, judgement, has_costs);
    if !has_costs || whole.width() <= options.columns() {
        return whole.text(options);
    }
    let title = format!("{COST}, {}", against(run));
    let mut costs = Table::new(&[("case", Side::Left), (&title, Side::Left)]);
    for comparison in &judgement.comparisons {
        let name = plain_within(&comparison.case, NAME_COLUMNS);
        let cost = cost_text(judgement, comparison.case_index);
        costs.push(vec![(name, Style::Usual), (cost, Style::Usual)]);
    }
    let compared = comparison_table(run, judgement, false).text(options);
    format!("{compared}\n{}", costs.text(options))
}

fn comparison_table(run: &Run, judgement: &Judgement, has_costs: bool) -> Table {
    let against = against(run);
    let mut columns = vec![("case", Side::Left)];
    columns.extend(comparison_columns(&against, has_costs));
    let mut table = Table::new(&columns);
    for comparison in &judgement.comparisons {
        let name = plain_within(&comparison.case, NAME_COLUMNS);
        let mut row = vec![(name, Style::Usual)];
        let index = comparison.case_index;
        row.extend(comparison_row(run, judgement, index, has_costs));
        table.push(row);
    }
    table
}

/// Returns the title of the column of ratios.
pub(crate) fn against(run: &Run) -> String {
    format!("times {}", plain_within(&run.baseline, NAME_COLUMNS))
}

fn ratio_and_interval(ratio: Ratio) -> String {
    let RatioText { ratio, low, high } = RatioText::of(ratio);
    format!("{ratio} ({low} to {high})")
}

/// Formats a ratio: `1.49 (1.47 to 1.51)`.
fn ratio_text(comparison: &Comparison) -> String {
    match (comparison.ratio, comparison.bare_ratio) {
        (Some(ratio), _) => ratio_and_interval(ratio),
        (None, Some(bare)) => format!("{} (no interval)", decimals(bare, BARE_PLACES)),
        (None, None) => UNKNOWN.to_string(),
    }
}
