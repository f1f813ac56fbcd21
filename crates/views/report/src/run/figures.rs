//! Formats numbers: thousands separators, and only significant decimals.

use model::{Id, IdSet, Metric, Run};
use verdict::Ratio;

use crate::form::plain::plain_within;

/// Maximum width of a unit, in columns.
const UNIT_COLUMNS: usize = 16;

/// Placeholder for an unknown number.
pub(crate) const UNKNOWN: &str = "-";

/// Decimals of a ratio without interval: enough to distinguish 10.4 % from 10.5 %.
pub(crate) const BARE_PLACES: usize = 3;

/// Formats a whole number with thousands separators: `8,623,444`.
pub(crate) fn whole(number: u64) -> String {
    separated(&number.to_string())
}

/// Returns the unit of a run's values, harmless on a terminal and short enough for a title: that of
/// a command or of imported figures is text that others wrote.
pub(crate) fn unit(run: &Run) -> String {
    plain_within(run.shown_unit(), UNIT_COLUMNS)
}

/// Formats a rate: without decimals from 100 up, with decimals below.
pub(crate) fn rate(number: f64) -> String {
    let places = match number.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    decimals(number, places)
}

/// Formats a value of a metric, in the unit shown to users.
pub fn value(metric: Metric, value: f64) -> String {
    rate(value / metric.facts().shown_unit_is)
}

/// Formats seconds: `2.0 s`, or `10.2 ms` below 0.1 s.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds.abs() {
        size if size < 0.1 => format!("{} ms", decimals(1e3 * seconds, 1)),
        _ => format!("{} s", decimals(seconds, 1)),
    }
}

/// Formats an upper bound in percent, rounded up so that it remains a bound: `6 %`, `2.3 %`.
pub(crate) fn share_above(share: f64) -> String {
    // The binary representation error must not round up to the next step.
    let up = |steps: f64| (share * steps - 1e-6).ceil() / steps * 100.0;
    let text = match share {
        _ if share < 0.0995 => decimals(up(1000.0), 1),
        _ => decimals(up(100.0), 0),
    };
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// Formats a confidence: `95 %`, `93.75 %`.
pub(crate) fn confidence_percent(confidence: f64) -> String {
    let digits = decimals(100.0 * confidence, 2);
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits} %")
}

/// Returns `CPU 1`, `CPUs 0-3`, or `no CPU`.
pub(crate) fn ids<I: Id>(word: &str, set: &IdSet<I>) -> String {
    match set.len() {
        0 => format!("no {word}"),
        1 => format!("{word} {set}"),
        _ => format!("{word}s {set}"),
    }
}

/// Formats a number with this many decimals and thousands separators; `-` if it is not finite.
pub fn decimals(number: f64, places: usize) -> String {
    if !number.is_finite() {
        return UNKNOWN.to_string();
    }
    // A rate beyond this is an error, and its digits would fill the screen.
    if number.abs() >= 1e18 {
        return format!("{number:e}");
    }
    let text = format!("{number:.places$}");
    let (sign, digits) = match text.strip_prefix('-') {
        // A number that rounds to 0 has no sign.
        Some(digits) if digits.bytes().all(|byte| matches!(byte, b'0' | b'.')) => ("", digits),
        Some(digits) => ("-", digits),
        None => ("", text.as_str()),
    };
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, format!(".{fraction}")),
        None => (digits, String::new()),
    };
    format!("{sign}{}{fraction}", separated(whole))
}

fn separated(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A ratio and its interval, with enough decimals to tell them apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RatioText {
    /// The ratio.
    pub(crate) ratio: String,
    /// Lower end of its interval.
    pub(crate) low: String,
    /// Upper end of its interval.
    pub(crate) high: String,
}

impl RatioText {
    /// Formats with two decimals, or up to four when the ends would look alike or an end would look
    /// like 1.
    pub(crate) fn of(ratio: Ratio) -> Self {
        let (low, high) = (ratio.interval.low, ratio.interval.high);
        let is_clear = |places: &usize| {
            let one = decimals(1.0, *places);
            let shown = |end: f64| decimals(end, *places);
            let is_one = |end: f64| end != 1.0 && shown(end) == one;
            !is_one(low) && !is_one(high) && (low == high || shown(low) != shown(high))
        };
        let places = (2..4).find(is_clear).unwrap_or(4);
        RatioText {
            ratio: decimals(ratio.ratio, places),
            low: decimals(low, places),
            high: decimals(high, places),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::CpuId;
    use stats::{Interval, median_interval};
    use verdict::common;

    #[test]
    fn large_figures_have_separators() {
        assert_eq!(whole(0), "0");
        assert_eq!(whole(999), "999");
        assert_eq!(whole(1_000), "1,000");
        assert_eq!(whole(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(rate(8_623_444.6), "8,623,445");
        assert_eq!(rate(-1234.5), "-1,234");
        assert_eq!(rate(12.34), "12.3");
        assert_eq!(rate(0.001), "0.00");
        assert_eq!(rate(-0.001), "0.00");
        assert_eq!(decimals(1065.44, 1), "1,065.4");
        assert_eq!(decimals(f64::NAN, 1), "-");
        assert_eq!(decimals(f64::NEG_INFINITY, 1), "-");
        assert_eq!(rate(1.5e300), "1.5e300");
    }

    #[test]
    fn sets_of_ids_are_named_by_their_number() {
        let shown = |list: &str| ids::<CpuId>("CPU", &list.parse().unwrap());
        assert_eq!(shown(""), "no CPU");
        assert_eq!(shown("7"), "CPU 7");
        assert_eq!(shown("0-3,8"), "CPUs 0-3,8");
    }

    #[test]
    fn what_could_have_been_seen_is_rounded_up() {
        assert_eq!(share_above(0.06), "6 %");
        assert_eq!(share_above(0.0601), "6.1 %");
        assert_eq!(share_above(0.0023), "0.3 %");
        assert_eq!(share_above(0.251), "26 %");
        assert_eq!(share_above(1.7), "170 %");
        assert_eq!(share_above(f64::INFINITY), "- %");
    }

    #[test]
    fn headings_say_what_the_least_sure_interval_is() {
        let of = |count: u32| {
            let values: Vec<f64> = (0..count).map(f64::from).collect();
            median_interval(&values, 0.95).unwrap()
        };
        assert_eq!(confidence_percent(common([])), "95 %");
        assert_eq!(confidence_percent(common([of(6), of(12)])), "95 %");
        assert_eq!(
            confidence_percent(common([of(12), of(5), of(8)])),
            "93.75 %"
        );
        assert_eq!(confidence_percent(0.9), "90 %");
    }

    fn check(numbers: [f64; 3], expected: [&str; 3]) {
        let [ratio, low, high] = numbers;
        let text = RatioText::of(Ratio {
            ratio,
            interval: Interval {
                low,
                high,
                confidence: 0.95,
            },
        });
        assert_eq!([text.ratio, text.low, text.high], expected);
    }

    #[test]
    fn an_interval_that_excludes_one_is_shown_to_exclude_it() {
        check([1.09, 1.05, 1.131], ["1.09", "1.05", "1.13"]);
        check([0.99, 0.98, 0.998], ["0.990", "0.980", "0.998"]);
        check([1.001, 1.0002, 1.002], ["1.0010", "1.0002", "1.0020"]);
        check([1.0, 0.97, 1.04], ["1.00", "0.97", "1.04"]);
        check([1.0, 1.0, 1.0], ["1.00", "1.00", "1.00"]);
        check([12.3, 12.0, 12.9], ["12.30", "12.00", "12.90"]);
    }
}
