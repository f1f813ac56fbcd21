//! What the document of a run says about one case against the baseline, and when it could first say
//! so.

use anyhow::{Context, Result};
use serde_json::Value;
use stats::{VALUES_MIN, ratio_of_cases, ratio_of_pairs};

use super::window_order::{self, Windows};

/// Confidence of the intervals of numalab.
pub(super) const CONFIDENCE: f64 = 0.95;

/// One figure for each trial; `None` if it does not count.
pub(super) type Figures = Vec<Option<f64>>;

/// The ratio of a case to the baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    /// The estimate.
    pub ratio: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Found {
    /// Reads the comparison of a case from a document.
    pub(super) fn of(run: &Value, case: &str) -> Result<Self> {
        let comparison = ["comparisons", "controls"]
            .into_iter()
            .flat_map(|key| run[key].as_array().into_iter().flatten())
            .find(|it| it["case"] == case);
        let comparison = comparison.with_context(|| format!("{case} is not compared"))?;
        let figure = |key: &str| {
            let figure = comparison[key].as_f64();
            figure.with_context(|| format!("{case} has no {key}: {comparison}"))
        };
        Ok(Found {
            ratio: figure("ratio")?,
            low: figure("low")?,
            high: figure("high")?,
        })
    }

    /// Whether the interval includes a ratio.
    pub(super) fn holds(&self, ratio: f64) -> bool {
        (self.low..=self.high).contains(&ratio)
    }

    /// Returns half the width of the interval, relative to the ratio.
    pub(super) fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.ratio
    }

    /// Returns it as text.
    pub(super) fn text(&self) -> String {
        let Found { ratio, low, high } = self;
        format!("{ratio:.3} ({low:.3} to {high:.3})")
    }
}

/// Returns the seconds of trials after which the interval of a case first excluded 1, and kept
/// doing so; `None` if it does not at the end.
pub(super) fn told_apart_s(run: &Value, case: &str) -> Result<Option<f64>> {
    let baseline = run["baseline"].as_str().context("a run has a baseline")?;
    let (of_case, of_baseline) = (trials(run, case)?, trials(run, baseline)?);
    let all: f64 = of_all(run).map(took_s).sum();
    let rounds = of_case.len().min(of_baseline.len());
    let mut first = None;
    for count in VALUES_MIN..=rounds {
        let value = |trials: &[&Value]| -> Vec<Option<f64>> {
            let values = trials[..count].iter();
            values.map(|it| it["value"].as_f64()).collect()
        };
        let alternated = of_case.iter().all(|it| !it["evidence"]["parked"].is_null());
        let ratio = match alternated {
            true => ratio_of_pairs,
            false => ratio_of_cases,
        };
        let found = ratio(&value(&of_case), &value(&of_baseline), CONFIDENCE);
        let excludes = found.is_some_and(|it| it.interval.low > 1.0 || it.interval.high < 1.0);
        let spent_s = all * count as f64 / rounds as f64;
        first = match excludes {
            true => first.or(Some(spent_s)),
            false => None,
        };
    }
    Ok(first)
}

/// Returns the rates of two cases in windows after one of the other case, and in windows after one
/// of their own: a pair for each trial that has both.
pub(super) fn by_predecessor(run: &Value, cases: [&str; 2]) -> Result<(Figures, Figures)> {
    let [one, other] = cases.map(|case| trials(run, case));
    let (mut after_other, mut after_own) = (Vec::new(), Vec::new());
    for (one, other) in one?.into_iter().zip(other?) {
        let found = window_order::means(&windows(one), &windows(other));
        for (of_other, of_own) in found.into_iter().flatten() {
            if of_other.is_some() && of_own.is_some() {
                after_other.push(of_other);
                after_own.push(of_own);
            }
        }
    }
    Ok((after_other, after_own))
}

fn windows(trial: &Value) -> Windows {
    let samples = trial["samples"].as_array().into_iter().flatten();
    let counts = trial["valid"] == true;
    let of_sample = |sample: &Value| {
        let rate = sample["logical_reads_per_s"].as_f64();
        let is_left_out = sample["left_out"] == true;
        let at_s = sample["at_s"].as_f64().unwrap_or(f64::NAN);
        (at_s, rate.filter(|_| counts && !is_left_out))
    };
    let (at_s, rates) = samples.map(of_sample).unzip();
    Windows { at_s, rates }
}

fn of_all(run: &Value) -> impl Iterator<Item = &Value> {
    let cases = run["cases"].as_array().into_iter().flatten();
    cases.flat_map(|case| case["trials"].as_array().into_iter().flatten())
}

fn took_s(trial: &Value) -> f64 {
    trial["evidence"]["took_s"].as_f64().unwrap_or(0.0)
}

fn trials<'r>(run: &'r Value, name: &str) -> Result<Vec<&'r Value>> {
    let cases = run["cases"].as_array().context("a run has cases")?;
    let case = cases.iter().find(|case| case["name"] == name);
    let case = case.with_context(|| format!("the run has no case {name}"))?;
    let trials = case["trials"].as_array().context("a case has trials")?;
    Ok(trials.iter().collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(values: &[(f64, f64)]) -> Value {
        let trials = |which: fn(&(f64, f64)) -> f64| -> Vec<Value> {
            let trial = |it: &(f64, f64)| {
                let evidence = json!({ "took_s": 1.5, "parked": { "times": 1 } });
                json!({ "value": which(it), "evidence": evidence })
            };
            values.iter().map(trial).collect()
        };
        json!({
            "baseline": "one",
            "cases": [
                { "name": "one", "trials": trials(|it| it.0) },
                { "name": "other", "trials": trials(|it| it.1) },
            ],
            "comparisons": [{ "case": "other", "ratio": 0.9, "low": 0.8, "high": 1.1 }],
        })
    }

    #[test]
    fn a_comparison_is_read() {
        let found = Found::of(&run(&[]), "other").unwrap();
        assert_eq!(found.text(), "0.900 (0.800 to 1.100)");
        assert!(found.holds(1.1) && !found.holds(1.11) && found.holds(0.8));
        assert!((found.half_width() - 1.0 / 6.0).abs() < 1e-9);
        assert!(Found::of(&run(&[]), "one").is_err());
    }

    #[test]
    fn what_is_told_apart_stays_so() {
        let apart = [
            (10.0, 20.0),
            (11.0, 22.1),
            (10.0, 20.1),
            (9.0, 18.0),
            (10.0, 19.9),
        ];
        // Two trials per round, of 1.5 s each.
        assert_eq!(told_apart_s(&run(&apart), "other").unwrap(), Some(15.0));
        assert_eq!(told_apart_s(&run(&apart[..4]), "other").unwrap(), None);
        let mut lost = apart.to_vec();
        lost.extend([(10.0, 1.0), (10.0, 90.0)]);
        assert_eq!(told_apart_s(&run(&lost), "other").unwrap(), None);
    }
}
