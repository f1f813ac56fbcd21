//! How far repeated measurements of one quantity spread, and how much runs differ beyond what their
//! rounds explain: the source of `kernels::BETWEEN_RUNS_SHARE`.

use std::fmt;

/// Minimum, median and maximum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub least: f64,
    pub median: f64,
    pub most: f64,
}

impl Spread {
    /// Summarises values; `None` if there are none.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        Some(Spread {
            least,
            median: f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2]),
            most,
        })
    }

    /// Converts to a unit that is `unit` times this one.
    pub(super) fn divided_by(self, unit: f64) -> Self {
        Spread {
            least: self.least / unit,
            median: self.median / unit,
            most: self.most / unit,
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spread {
            least,
            median,
            most,
        } = self;
        write!(f, "{median:.2} ({least:.2} to {most:.2})")
    }
}

/// A median with its 95 % interval ([`stats::median_interval`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Median {
    pub median: f64,
    pub low: f64,
    high: f64,
}

impl Median {
    /// Of values that were measured one by one; `None` if there are too few.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let interval = stats::median_interval(values, 0.95)?;
        Some(Median {
            median: stats::median(values)?,
            low: interval.low,
            high: interval.high,
        })
    }
}

impl fmt::Display for Median {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Median { median, low, high } = self;
        write!(f, "{median:.2} (95 % {low:.2} to {high:.2})")
    }
}

/// Returns the standard deviation of runs beyond what their rounds explain, as a share of the mean:
/// the component of variance between groups, by the method of moments. `None` for fewer than two
/// runs, or for runs with one round each.
pub(super) fn scatter(runs: &[Vec<f64>]) -> Option<f64> {
    let mean_of = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let groups: Vec<&Vec<f64>> = runs.iter().filter(|run| !run.is_empty()).collect();
    let all = runs.concat();
    let (count, values) = (groups.len() as f64, all.len() as f64);
    if groups.len() < 2 || all.len() <= groups.len() {
        return None;
    }
    let mean = mean_of(&all);
    let sum = |of: &dyn Fn(&[f64]) -> f64| groups.iter().map(|run| of(run)).sum::<f64>();
    let between = sum(&|run| run.len() as f64 * (mean_of(run) - mean).powi(2)) / (count - 1.0);
    let within = sum(&|run| {
        let own = mean_of(run);
        run.iter().map(|value| (value - own).powi(2)).sum()
    }) / (values - count);
    let of_each = (values - sum(&|run| (run.len() as f64).powi(2)) / values) / (count - 1.0);
    Some(((between - within) / of_each).max(0.0).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::{Spread, scatter};

    #[test]
    fn the_median_is_the_middle_or_between_the_two_middles() {
        let check = |values: &[f64], expected: &str| {
            assert_eq!(Spread::of(values).unwrap().to_string(), expected);
        };
        check(&[3.0, 1.0, 2.0], "2.00 (1.00 to 3.00)");
        check(&[4.0, 1.0, 2.0, 3.0], "2.50 (1.00 to 4.00)");
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn what_runs_differ_by_is_told_from_what_rounds_do() {
        // Runs 2 % to either side of 100 whose rounds hardly differ; and rounds that explain
        // everything.
        let runs = [vec![98.0, 98.1, 97.9], vec![102.0, 102.1, 101.9]];
        let share = scatter(&runs).unwrap();
        assert!((share - 0.028_28).abs() < 0.000_1, "{share}");
        let same = [vec![98.0, 102.0], vec![98.0, 102.0], vec![]];
        assert_eq!(scatter(&same), Some(0.0));
        assert_eq!(scatter(&[vec![98.0, 102.0]]), None);
        assert_eq!(scatter(&[vec![98.0], vec![102.0]]), None);
        assert_eq!(scatter(&[]), None);
    }
}
