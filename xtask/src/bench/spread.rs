//! Summary of repeated measurements of one quantity.

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

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn the_median_is_the_middle_or_between_the_two_middles() {
        let check = |values: &[f64], expected: &str| {
            assert_eq!(Spread::of(values).unwrap().to_string(), expected);
        };
        check(&[3.0, 1.0, 2.0], "2.00 (1.00 to 3.00)");
        check(&[4.0, 1.0, 2.0, 3.0], "2.50 (1.00 to 4.00)");
        assert_eq!(Spread::of(&[]), None);
    }
}
