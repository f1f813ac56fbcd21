//! Ids of runs: short enough to type, ordered by time.

use jiff::Zoned;

/// The id of a run that starts now: date, time and milliseconds, as in `20261121-034512-271`.
pub fn new(now: &Zoned) -> String {
    now.strftime("%Y%m%d-%H%M%S-%3f").to_string()
}

/// The time of a run's start, RFC 3339 with offset.
pub fn rfc_3339(now: &Zoned) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

#[cfg(test)]
mod tests {
    use super::{new, rfc_3339};

    #[test]
    fn ids_and_times_are_of_the_same_moment() {
        let moment: jiff::Zoned = "2026-11-21T03:45:12.271+01:00[Europe/Paris]"
            .parse()
            .unwrap();
        assert_eq!(new(&moment), "20261121-034512-271");
        assert_eq!(rfc_3339(&moment), "2026-11-21T03:45:12+01:00");
    }
}
