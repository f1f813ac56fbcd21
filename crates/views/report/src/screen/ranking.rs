//! The ranking of a screen: each case as a bar and in figures, and against the baseline.

use model::{Better, Metric, Run};
use unicode_width::UnicodeWidthStr;
use verdict::{CaseJudgement, Comparison, Judgement, TRIALS_ENOUGH, is_emulated, order};

use crate::form::plain::plain_within;
use crate::form::style::{Style, TextOptions, cut};
use crate::form::table::{Side, Table};
use crate::run::bars::{MEDIAN, Scale, UNSURE};
use crate::run::figures::{
    BARE_PLACES, RatioText, UNKNOWN, confidence_percent, decimals, unit, value,
};
use crate::run::ranking::middle;
use crate::run::ranking::rank_text;
use crate::run::windows;
use crate::verdict_words::names::trials;
use crate::verdict_words::too_few::had_no_time;

/// Maximum number of cases shown.
pub(crate) const ROWS_MAX: usize = 12;
/// Maximum and minimum width of a case's name, in columns.
const NAME_COLUMNS: (usize, usize) = (24, 8);
/// Maximum width of the baseline's name in a title, in columns.
const BASELINE_COLUMNS: usize = 16;
/// Maximum width of a figure, in columns; wider ones use scientific notation.
const FIGURE_COLUMNS: usize = 15;
/// Maximum and minimum width of a bar, in columns.
const BAR_COLUMNS: (usize, usize) = (36, 6);

/// The ranking of one run.
pub(crate) struct Ranking<'r> {
    run: &'r Run,
    judgement: &'r Judgement,
    options: &'r TextOptions,
}

impl<'r> Ranking<'r> {
    /// Creates the ranking of a run.
    pub(crate) fn of(run: &'r Run, judgement: &'r Judgement, options: &'r TextOptions) -> Self {
        Ranking {
            run,
            judgement,
            options,
        }
    }

    /// Returns the table with at most `rows` rows, and a legend.
    pub(crate) fn lines(&self, rows: usize) -> Vec<String> {
        let mut order = order(self.run, self.judgement);
        // The table of what could not run has them.
        let cases = &self.judgement.cases;
        order.retain(|index| !had_no_time(self.run, cases, &cases[*index]));
        // The line that counts the others also takes a row.
        let shown = match order.len() > rows {
            true => rows.saturating_sub(1),
            false => order.len(),
        };
        let (shown, hidden) = order.split_at(shown);
        let others = |names, bars| self.table(shown, names, bars).width();
        let room = self.options.columns();
        let names = room.saturating_sub(others(0, None) + BAR_COLUMNS.1 + 2);
        let names = names.clamp(NAME_COLUMNS.1, NAME_COLUMNS.0);
        let bars = room.saturating_sub(others(names, None) + 2);
        let bars = Some(bars.min(BAR_COLUMNS.0)).filter(|it| *it >= BAR_COLUMNS.1);
        let table = self.table(shown, names, bars).text(self.options);
        let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
        if !hidden.is_empty() {
            lines.push(format!("and {} more: --full", hidden.len()));
        }
        lines.push(cut(&self.legend(bars.is_some()), room));
        lines
    }

    fn table(&self, shown: &[usize], names: usize, bars: Option<usize>) -> Table {
        let bars = bars.filter(|_| !is_emulated(self.run));
        let scale = bars.map(|columns| self.scale(shown, columns));
        let unit = unit(self.run);
        let baseline = plain_within(&self.run.baseline, BASELINE_COLUMNS);
        let against = format!("times {baseline}");
        let mut columns = vec![
            ("rank", Side::Right),
            ("case", Side::Left),
            (unit.as_str(), Side::Right),
        ];
        columns.extend(scale.as_ref().map(|_| ("", Side::Left)));
        let is_compared = !self.judgement.comparisons.is_empty();
        columns.extend(is_compared.then_some((against.as_str(), Side::Left)));
        let mut table = Table::new(&columns);
        for index in shown {
            let case = &self.judgement.cases[*index];
            let style = match case.rank {
                Some(rank) if rank.best == 1 => Style::Strong,
                _ => Style::Usual,
            };
            let rank = case.rank.map_or_else(|| UNKNOWN.to_owned(), rank_text);
            let mut row = vec![
                (rank, style),
                (plain_within(&case.name, names), style),
                (self.figure(case, shown), style),
            ];
            let bar = scale.as_ref().map(|scale| self.bar(case, scale));
            row.extend(bar.map(|bar| (bar, Style::Usual)));
            row.extend(is_compared.then(|| self.against(case, *index)));
            table.push(row);
        }
        table
    }

    /// Formats the median; where the largest is in millions, all are, with four significant digits.
    fn figure(&self, case: &CaseJudgement, shown: &[usize]) -> String {
        let Some(median) = case.shown else {
            return UNKNOWN.to_owned();
        };
        let metric: Metric = self.run.metric;
        let unit = metric.facts().shown_unit_is;
        let medians = shown
            .iter()
            .filter_map(|it| self.judgement.cases[*it].shown);
        let most = medians.map(|it| (it / unit).abs()).fold(0.0, f64::max);
        let (size, letter) = match most {
            1e6..1e9 => (1e6, "M"),
            1e9..1e15 => (1e9, "G"),
            _ => {
                let usual = value(metric, median);
                return match usual.width() > FIGURE_COLUMNS {
                    true => format!("{:.3e}", median / unit),
                    false => usual,
                };
            }
        };
        let places = match most / size {
            100.0.. => 1,
            10.0.. => 2,
            _ => 3,
        };
        format!("{} {letter}", decimals(median / unit / size, places))
    }

    fn scale(&self, shown: &[usize], columns: usize) -> Scale {
        let cases = shown.iter().map(|it| &self.judgement.cases[*it]);
        let ends = cases.filter_map(|case| {
            let high = case.shown_interval.map(|it| it.high);
            high.or(case.shown)
        });
        Scale {
            most: ends.fold(0.0, f64::max),
            columns,
        }
    }

    /// Returns the bar of a case; without an interval all of it is drawn as uncertain.
    fn bar(&self, case: &CaseJudgement, scale: &Scale) -> String {
        let bar = case.shown.and_then(|median| match case.shown_interval {
            Some(interval) => scale.bar(interval.low, median, interval.high),
            None => scale.bar(0.0, median, median),
        });
        bar.unwrap_or_default()
    }

    /// Returns the ratio to the baseline with its interval, or why there is none.
    fn against(&self, case: &CaseJudgement, index: usize) -> (String, Style) {
        let mut comparisons = self.judgement.comparisons.iter();
        let comparison = comparisons.find(|it| it.case_index == index);
        match comparison {
            Some(it) if is_emulated(self.run) => ("emulated".to_owned(), Style::of(it.verdict)),
            Some(comparison) => (ratio(comparison, case), Style::of(comparison.verdict)),
            None => ("baseline".to_owned(), Style::Usual),
        }
    }

    /// Returns the legend: how to read the table, and the trials behind it.
    fn legend(&self, bars: bool) -> String {
        let cases = &self.judgement.cases;
        let mut parts = Vec::new();
        if bars && !is_emulated(self.run) {
            parts.push(
                match cases.iter().any(|case| case.shown_interval.is_some()) {
                    true => {
                        let sure = confidence_percent(self.judgement.confidence());
                        format!(
                            "{MEDIAN} {}, {UNSURE} {sure} interval",
                            middle(self.judgement.is_of_rounds)
                        )
                    }
                    false => format!(
                        "{MEDIAN} {}, without an interval",
                        middle(self.judgement.is_of_rounds)
                    ),
                },
            );
        }
        let had_time = cases
            .iter()
            .filter(|case| !had_no_time(self.run, cases, case));
        let valid: Vec<usize> = had_time.map(|case| case.valid).collect();
        let least = valid.iter().copied().min().unwrap_or(0);
        let most = valid.iter().copied().max().unwrap_or(0);
        parts.push(match least == most {
            true => format!("{} each", trials(most)),
            false => format!("{least} to {}", trials(most)),
        });
        parts.extend(self.run.window_s.map(|it| windows::short(self.run, it)));
        if self.run.metric.facts().better == Better::Less {
            parts.push("less is better".to_owned());
        }
        parts.join("; ")
    }
}

fn ratio(comparison: &Comparison, case: &CaseJudgement) -> String {
    match (comparison.ratio, comparison.bare_ratio) {
        (Some(ratio), _) => {
            let RatioText { ratio, low, high } = RatioText::of(ratio);
            format!("{ratio} ({low} to {high})")
        }
        (None, Some(bare)) => format!("{} (no interval)", decimals(bare, BARE_PLACES)),
        (None, None) if case.valid < TRIALS_ENOUGH => match case.valid == case.trials() {
            true => trials(case.valid),
            false => format!("{} of {} valid", case.valid, trials(case.trials())),
        },
        (None, None) => UNKNOWN.to_owned(),
    }
}
