//! A bar chart of the medians and their intervals, starting at 0, so that lengths can be compared.

use model::{Better, Run};
use unicode_width::UnicodeWidthStr;
use verdict::{Judgement, order};

use crate::form::plain::plain_within;
use crate::form::style::{Style, TextOptions};
use crate::run::figures::{confidence_percent, unit, value};
use crate::run::ranking::NAME_COLUMNS;
use crate::run::ranking::middle;

/// Bar up to the lower end of the interval.
const SURE: char = '█';
/// Bar within the interval.
pub(crate) const UNSURE: char = '▒';
/// The median.
pub(crate) const MEDIAN: char = '┃';

/// The scale of bars: each column is an equal share of the largest upper end.
pub(crate) struct Scale {
    /// The largest upper end.
    pub(crate) most: f64,
    /// Columns for the largest upper end.
    pub(crate) columns: usize,
}

impl Scale {
    /// Returns the bar of a median and its interval; `None` where nothing can be drawn.
    pub(crate) fn bar(&self, low: f64, median: f64, high: f64) -> Option<String> {
        if self.most <= 0.0 || !self.most.is_finite() {
            return None;
        }
        let share = |value: f64| (value / self.most * self.columns as f64).round() as usize;
        let column = |value: f64| share(value).clamp(1, self.columns) - 1;
        let (low, median, high) = (column(low), column(median), column(high));
        let drawn = (0..=high.max(median)).map(|at| match at {
            at if at == median => MEDIAN,
            at if at < low => SURE,
            _ => UNSURE,
        });
        Some(drawn.collect())
    }
}

/// Returns one bar for each case with an interval; empty when fewer than two cases have one.
pub(crate) fn bars(run: &Run, judgement: &Judgement, options: &TextOptions) -> String {
    let drawn: Vec<_> = order(run, judgement)
        .into_iter()
        .filter_map(|index| {
            let case = &judgement.cases[index];
            let median = case.shown?;
            let interval = case.shown_interval?;
            let (low, high) = (interval.low, interval.high);
            let name = plain_within(&case.name, NAME_COLUMNS);
            Some((name, low, median, high))
        })
        .collect();
    let most = drawn.iter().map(|(.., high)| *high).fold(0.0, f64::max);
    if drawn.len() < 2 || most <= 0.0 || !most.is_finite() {
        return String::new();
    }
    let names = drawn.iter().map(|(name, ..)| name.width()).max();
    let names = names.unwrap_or(0);
    let room = options.columns().saturating_sub(names + 2).clamp(10, 80);
    let scale = Scale {
        most,
        columns: room,
    };
    let mut text = String::new();
    for (name, low, median, high) in &drawn {
        let bar = scale.bar(*low, *median, *high).unwrap_or_default();
        let pad = " ".repeat(names - name.width());
        text.push_str(&format!("{name}{pad}  {bar}\n"));
    }
    let most = value(run.metric, most);
    let pad = " ".repeat(names + 2);
    text.push_str(&format!("{pad}0{most:>width$}\n", width = room - 1));
    let facts = run.metric.facts();
    let shorter = match facts.better {
        Better::More => "",
        Better::Less => "; less is better",
    };
    let unit = unit(run);
    let sure = confidence_percent(judgement.confidence());
    let legend = format!(
        "{MEDIAN} {}, {UNSURE} {sure} interval, {unit}{shorter}",
        middle(judgement.is_of_rounds)
    );
    text.push_str(&options.paragraph(&pad, &legend, Style::Usual));
    text
}
