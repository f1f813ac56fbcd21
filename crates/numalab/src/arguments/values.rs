//! Values of arguments: seconds, pairs of nodes, and files that the user names.

use crate::failure::Failure;
use experiment::memory::CurvePairs;
use linux::Root;
use model::{ID_MAX, NodeId};
use residency::instances::{Target, resolved};

/// The longest duration that makes sense for a window or a run: a week.
const SECONDS_MAX: f64 = 7.0 * 86_400.0;
/// The shortest window that yields a rate.
const SECONDS_MIN: f64 = 0.05;

/// Parses seconds, `60s` or `5m`; fractions allowed.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let (number, unit) = match (text.strip_suffix('s'), text.strip_suffix('m')) {
        (Some(number), _) => (number, 1.0),
        (None, Some(number)) => (number, 60.0),
        (None, None) => (text, 1.0),
    };
    match number.parse::<f64>().map(|number| number * unit) {
        Ok(seconds) if (SECONDS_MIN..=SECONDS_MAX).contains(&seconds) => Ok(seconds),
        _ => Err(format!(
            "expected a time from {SECONDS_MIN} to {SECONDS_MAX} seconds, such as 60, 60s or 5m"
        )),
    }
}

/// Parses a window: work and CPU time are looked at once a second.
pub(crate) fn window(text: &str) -> Result<f64, String> {
    match seconds(text)? {
        seconds if seconds < 1.0 => Err("a window has at least 1 s".to_owned()),
        seconds => Ok(seconds),
    }
}

/// Parses `3%` or `3` as 0.03.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    match number.parse::<f64>() {
        Ok(percent) if (0.1..=90.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("expected a percentage from 0.1 to 90, such as 3%".to_owned()),
    }
}

/// Parses `local`, `all`, or the node of the CPU and the node of the memory as in `0:3`.
pub(crate) fn curve_pairs(word: &str) -> Result<CurvePairs, String> {
    let id = |word: &str| {
        let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let id: u32 = word.parse().ok().filter(|_| is_number)?;
        (id <= ID_MAX).then_some(NodeId(id))
    };
    match word {
        "local" => Ok(CurvePairs::Local),
        "all" => Ok(CurvePairs::All),
        _ => word
            .split_once(':')
            .and_then(|(from, to)| Some(CurvePairs::One(id(from)?, id(to)?)))
            .ok_or_else(|| "expected local, all, or two nodes as in 0:3".to_owned()),
    }
}

/// Fixed, so that two inspections of a segment sample the same pages: a difference between them
/// means that pages have moved.
pub(crate) const SAMPLE_SEED: u64 = 1;

/// Reads a target; `postgres:PORT` and `postgres:VERSION/CLUSTER` become the data directory.
pub(crate) fn target_of(root: &Root, text: &str) -> Result<Target, Failure> {
    Ok(resolved(root, text.parse()?)?)
}

#[cfg(test)]
mod tests {
    use experiment::memory::CurvePairs;
    use model::NodeId;

    use super::{curve_pairs, percent, seconds};

    #[test]
    fn only_sensible_seconds_pass() {
        for (text, expected) in [("2", 2.0), ("0.5", 0.5), ("60s", 60.0), ("1.5m", 90.0)] {
            assert_eq!(seconds(text), Ok(expected));
        }
        for text in [
            "", "x", "s", "m", "-1", "0", "inf", "NaN", "NaNs", "1h", "1e300m", "0.001",
        ] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn percentages_are_shares() {
        assert_eq!((percent("3%"), percent("0.5")), (Ok(0.03), Ok(0.005)));
        for text in ["", "%", "0", "-3%", "91", "3%%", "NaN", "inf"] {
            assert!(percent(text).is_err(), "{text}");
        }
    }

    #[test]
    fn pairs_are_words_or_two_nodes() {
        assert_eq!(curve_pairs("local"), Ok(CurvePairs::Local));
        assert_eq!(curve_pairs("all"), Ok(CurvePairs::All));
        assert_eq!(
            curve_pairs("0:17"),
            Ok(CurvePairs::One(NodeId(0), NodeId(17)))
        );
        for wrong in ["", ":", "0", "0:", "+1:2", "0:1:2", "99999999999:0", "a:b"] {
            assert!(curve_pairs(wrong).is_err(), "{wrong}");
        }
    }
}
