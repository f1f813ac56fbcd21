//! Whether the figures of a report agree with one another, to the digits they were printed with.

use model::{LoadReport, Printed};

/// What a reader should know of figures that do not agree.
pub(crate) fn remarks(report: &LoadReport) -> Vec<String> {
    let Some(elapsed) = report.interval.elapsed_s else {
        return vec![
            "the text does not say how long the interval was; CPUs delivered are those of the \
             load profile, with its few digits (--elapsed SECONDS says it)"
                .to_owned(),
        ];
    };
    let profile = &report.profile;
    let pairs = [
        ("DB CPU", report.db_cpu_s, profile.db_cpu_per_s),
        ("DB time", report.db_time_s, profile.db_time_per_s),
    ];
    let pairs = pairs.into_iter();
    let found = pairs.filter_map(|(what, total, rate)| remark(what, total?, elapsed, rate?));
    found.collect()
}

/// A remark when a total over an interval cannot be the rate that is printed beside it.
fn remark(what: &str, total: Printed, elapsed: Printed, rate: Printed) -> Option<String> {
    let least = (total.value - total.half_unit) / (elapsed.value + elapsed.half_unit);
    let most = (total.value + total.half_unit) / (elapsed.value - elapsed.half_unit);
    let agree = least <= rate.value + rate.half_unit && most >= rate.value - rate.half_unit;
    let low = (total.value - total.half_unit) / (rate.value + rate.half_unit);
    let high = (total.value + total.half_unit) / (rate.value - rate.half_unit);
    (!agree && low > 0.0 && high > 0.0).then(|| {
        format!(
            "{what} of {:.1} s at {} per second, as the load profile has it, took {low:.1} to \
             {high:.1} s, not {:.1} s",
            total.value, rate.value, elapsed.value
        )
    })
}

#[cfg(test)]
mod tests {
    use super::remark;
    use model::Printed;

    fn check(total: f64, elapsed: f64, rate: f64, expected: Option<&str>) {
        let printed = |value, half_unit| Printed { value, half_unit };
        let found = remark(
            "DB CPU",
            printed(total, 0.05),
            printed(elapsed, 0.0),
            printed(rate, 0.05),
        );
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn an_interval_that_the_load_profile_contradicts_is_remarked() {
        // Article 001, test 4 and test 1, over the 5 minutes that the author names.
        check(1627.8, 300.0, 5.4, None);
        check(
            2700.6,
            300.0,
            8.9,
            Some(
                "DB CPU of 2700.6 s at 8.9 per second, as the load profile has it, took 301.7 to \
                 305.2 s, not 300.0 s",
            ),
        );
    }
}
