//! Durations on the command line.

/// The longest duration that makes sense for a window or a run: a week.
const SECONDS_MAX: f64 = 7.0 * 86_400.0;
/// The shortest window that yields a rate.
const SECONDS_MIN: f64 = 0.05;

/// Parses seconds, fractions allowed.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (SECONDS_MIN..=SECONDS_MAX).contains(&seconds) => Ok(seconds),
        _ => Err(format!(
            "expected seconds from {SECONDS_MIN} to {SECONDS_MAX}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn only_sensible_seconds_pass() {
        for (text, expected) in [("2", Some(2.0)), ("0.5", Some(0.5))] {
            assert_eq!(seconds(text).ok(), expected);
        }
        for text in ["", "x", "-1", "0", "inf", "NaN", "1e300", "0.001"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
