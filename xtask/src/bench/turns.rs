//! Figures of subjects measured in turns: medians with intervals, and ratios of neighbours.

use std::fmt;

use anyhow::{Context, Result};
use serde_json::Value;

/// Confidence of every interval.
const CONFIDENCE: f64 = 0.95;

/// A median with its 95 % interval ([`stats::median_interval`]), or with the range of too few
/// values for one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Median {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Median {
    /// Of at least one value.
    pub(super) fn of(values: &[f64]) -> Result<Self> {
        let median = stats::median(values).context("nothing was measured")?;
        let ends = match stats::median_interval(values, CONFIDENCE) {
            Some(interval) => [interval.low, interval.high],
            None => [f64::min, f64::max].map(|end| values.iter().copied().fold(median, end)),
        };
        let [low, high] = ends;
        Ok(Median { median, low, high })
    }
}

impl fmt::Display for Median {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Median { median, low, high } = self;
        // Figures from microseconds in seconds to tens of GB/s: three digits at least.
        let digits = if *median < 0.1 { 4 } else { 2 };
        write!(f, "{median:.digits$} ({low:.digits$} to {high:.digits$})")
    }
}

/// The figures of each subject, in the order of the rounds.
#[derive(Debug, Default)]
pub(super) struct Turns(Vec<(String, Vec<f64>)>);

impl Turns {
    /// Adds the figure of a subject in this round.
    pub(super) fn note(&mut self, subject: &str, figure: f64) {
        match self.0.iter_mut().find(|(name, _)| name == subject) {
            Some((_, figures)) => figures.push(figure),
            None => self.0.push((subject.to_owned(), vec![figure])),
        }
    }

    /// Reads `[[true, FIGURE], [false, FIGURE], …]`, in the order A B B A: neighbours are a pair.
    pub(super) fn of_pairs(document: &Value, [with, without]: [&str; 2]) -> Result<Self> {
        let mut turns = Turns::default();
        for turn in document.as_array().context("no turns")? {
            let figure = turn[1].as_f64().context("a turn has a figure")?;
            match turn[0].as_bool().context("a turn has a state")? {
                true => turns.note(with, figure),
                false => turns.note(without, figure),
            }
        }
        Ok(turns)
    }

    /// Returns the figures of a subject.
    pub(super) fn figures(&self, subject: &str) -> &[f64] {
        let found = self.0.iter().find(|(name, _)| name == subject);
        found.map_or(&[], |(_, figures)| figures)
    }

    /// Returns the median of a subject.
    pub(super) fn median(&self, subject: &str) -> Result<Median> {
        Median::of(self.figures(subject)).with_context(|| subject.to_owned())
    }

    /// Returns the median of what `of` says of both figures of each round.
    pub(super) fn pairs(
        &self,
        [one, other]: [&str; 2],
        of: impl Fn(f64, f64) -> f64,
    ) -> Result<Median> {
        let rounds = self.figures(one).iter().zip(self.figures(other));
        let values: Vec<f64> = rounds.map(|(one, other)| of(*one, *other)).collect();
        Median::of(&values).with_context(|| format!("{one} and {other}"))
    }

    /// Returns the median of the ratios within rounds.
    pub(super) fn ratio(&self, one: &str, other: &str) -> Result<Median> {
        self.pairs([one, other], |one, other| one / other)
    }

    /// Prints the median of each subject, in units of `scale`.
    pub(super) fn print(&self, heading: &str, scale: f64, unit: &str) -> Result<()> {
        println!("{heading}, medians (95 % intervals):");
        for (name, figures) in &self.0 {
            let scaled: Vec<f64> = figures.iter().map(|figure| figure / scale).collect();
            println!("  {name:<39} {} {unit}", Median::of(&scaled)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Median, Turns};

    #[test]
    fn a_few_values_have_a_range_and_five_an_interval() {
        let check = |values: &[f64], expected: &str| {
            assert_eq!(Median::of(values).unwrap().to_string(), expected);
        };
        check(&[4.0, 1.0, 2.0, 3.0], "2.50 (1.00 to 4.00)");
        check(
            &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 99.0],
            "5.00 (2.00 to 8.00)",
        );
        check(&[0.01], "0.0100 (0.0100 to 0.0100)");
        assert!(Median::of(&[]).is_err());
    }

    #[test]
    fn ratios_are_those_of_each_round() {
        let turns = json!([[false, 1.0], [true, 2.0], [true, 30.0], [false, 10.0]]);
        let turns = Turns::of_pairs(&turns, ["with", "without"]).unwrap();
        assert_eq!(turns.ratio("with", "without").unwrap().median, 2.5);
        let more = turns.pairs(["with", "without"], |one, other| one - other);
        assert_eq!(more.unwrap().median, 10.5);
        assert!(turns.ratio("with", "nobody").is_err());
        assert!(Turns::of_pairs(&json!({}), ["with", "without"]).is_err());
    }
}
