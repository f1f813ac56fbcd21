//! Whether the figures of a report agree with one another, to the digits printed.
//!
//! Nothing is corrected: the text does not tell which of two figures is wrong. Figures missing from
//! an excerpt are not checked.

use model::{LoadReport, Printed, ReportInterval, ReportKind, counted};

use crate::events::{Row, TopEvents};
use crate::header::Header;
use crate::load_profile::ProfileRow;
use crate::time_model::Times;

/// Remarks for readers on the figures of one report.
pub(crate) fn remarks(report: &LoadReport) -> Vec<String> {
    let mut found = report.contradictions.clone();
    let Some(elapsed) = report.interval.elapsed_s else {
        found.push(
            "the report does not give the length of its interval; CPUs delivered come from the \
             load profile, which has few digits (set the length with --elapsed SECONDS)"
                .to_owned(),
        );
        return found;
    };
    let profile = &report.profile;
    let pairs = [
        ("DB CPU", report.db_cpu_s, profile.db_cpu_per_s),
        ("DB time", report.db_time_s, profile.db_time_per_s),
    ];
    let pairs = pairs.into_iter();
    found.extend(pairs.filter_map(|(what, total, rate)| remark(what, total?, elapsed, rate?)));
    found.extend(too_many_cpus(report));
    found
}

/// Remarks if a total over an interval is inconsistent with the rate printed beside it.
fn remark(what: &str, total: Printed, elapsed: Printed, rate: Printed) -> Option<String> {
    let least = (total.value - total.half_unit) / (elapsed.value + elapsed.half_unit);
    let most = (total.value + total.half_unit) / (elapsed.value - elapsed.half_unit);
    let agree = least <= rate.value + rate.half_unit && most >= rate.value - rate.half_unit;
    let low = (total.value - total.half_unit) / (rate.value + rate.half_unit);
    let high = (total.value + total.half_unit) / (rate.value - rate.half_unit);
    (!agree && low > 0.0 && high > 0.0).then(|| {
        format!(
            "{what} of {:.1} s at {} per second (load profile) takes {low:.1} to {high:.1} s, not \
             {:.1} s",
            total.value, rate.value, elapsed.value
        )
    })
}

/// Remarks if there is more CPU time per second than the host has CPUs.
fn too_many_cpus(report: &LoadReport) -> Option<String> {
    let (cpus, delivered) = (report.host.cpus?, report.cpus_delivered()?);
    (Range::of(delivered).low > f64::from(cpus)).then(|| {
        let delivered = delivered.value;
        format!(
            "DB CPU is {delivered:.1} per second, but the host has {}",
            counted(cpus, "CPU")
        )
    })
}

/// Contradictions between figures in the text of a report.
pub(crate) fn contradictions(
    kind: ReportKind,
    header: &Header,
    profile: &[ProfileRow],
    top: &TopEvents,
    times: &Times,
) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(interval(&header.interval));
    found.extend(transactions(profile));
    let is_db_time = kind != ReportKind::Statspack && !top.is_of_statspack();
    let cpu = top.cpu.iter().filter(|_| is_db_time);
    let cpu_row = cpu.clone().find_map(|row| row.event.total_s);
    found.extend(twice("DB time", &[times.db_time_s, header.db_time_s]));
    found.extend(twice("DB CPU", &[times.db_cpu_s, cpu_row, header.db_cpu_s]));
    found.extend(top.waits.iter().filter_map(average));
    let rows = || cpu.clone().chain(&top.waits);
    if let Some(db_time) = times.db_time_s.or(header.db_time_s).filter(|_| is_db_time) {
        found.extend(rows().filter_map(|row| share(row, db_time)));
    }
    found.extend(shares(top.cpu.iter().chain(&top.waits)));
    found
}

/// The possible values of a printed figure: it may have been rounded or truncated, so it is known
/// to one whole unit of its last digit.
#[derive(Debug, Clone, Copy)]
struct Range {
    low: f64,
    high: f64,
}

impl Range {
    fn of(printed: Printed) -> Self {
        Range {
            low: (printed.value - 2.0 * printed.half_unit).max(0.0),
            high: printed.value + 2.0 * printed.half_unit,
        }
    }

    fn times(self, other: Self) -> Self {
        Range {
            low: self.low * other.low,
            high: self.high * other.high,
        }
    }

    fn over(self, other: Self) -> Self {
        Range {
            low: self.low / other.high,
            high: self.high / other.low,
        }
    }

    /// Whether both may be the same figure; a NaN agrees with everything.
    fn agrees(self, other: Self) -> bool {
        !(self.low > other.high || self.high < other.low)
    }
}

/// Checks the elapsed time against the times of the snapshots.
fn interval(interval: &ReportInterval) -> Option<String> {
    const DAY_S: u32 = 24 * 60 * 60;
    let begin = seconds_of_day(interval.begin.as_deref()?)?;
    let end = seconds_of_day(interval.end.as_deref()?)?;
    let elapsed = interval.elapsed_s?;
    let between = (end + DAY_S - begin) % DAY_S;
    // Days apart, or the clocks were changed: the time of day is not conclusive.
    if elapsed.value >= f64::from(DAY_S) || (elapsed.value - f64::from(between)).abs() > 3000.0 {
        return None;
    }
    let apart = Printed {
        value: f64::from(between),
        half_unit: 0.5,
    };
    (!Range::of(apart).agrees(Range::of(elapsed))).then(|| {
        let elapsed = shown(elapsed);
        format!("the snapshots are {between} s apart, the elapsed time is {elapsed} s")
    })
}

/// The seconds since midnight of `02-Feb-26 08:05:15`.
fn seconds_of_day(text: &str) -> Option<u32> {
    let mut parts = text.split_whitespace().last()?.splitn(3, ':');
    let mut below = |limit: u32| {
        parts
            .next()?
            .parse::<u32>()
            .ok()
            .filter(|part| *part < limit)
    };
    Some((below(24)? * 60 + below(60)?) * 60 + below(60)?)
}

/// Checks the rows of the load profile: each implies a number of transactions per second.
fn transactions(rows: &[ProfileRow]) -> Option<String> {
    let said = rows.iter().filter_map(|row| {
        let rate = Range::of(row.per_second?).over(Range::of(row.per_transaction?));
        Some((row.label, rate))
    });
    let said: Vec<(&str, Range)> = said.collect();
    let pairs = said.iter().enumerate();
    let mut pairs =
        pairs.flat_map(|(index, one)| said[index + 1..].iter().map(move |it| (one, it)));
    let ((one, _), (other, _)) = pairs.find(|((_, one), (_, other))| !one.agrees(*other))?;
    Some(format!(
        "{one} and {other} of the load profile, per second and per transaction, imply different \
         numbers of transactions"
    ))
}

/// Checks a figure that the report prints in several places.
fn twice(what: &str, places: &[Option<Printed>]) -> Option<String> {
    let mut known = places.iter().copied().flatten();
    let first = known.next()?;
    let other = known.find(|other| !Range::of(first).agrees(Range::of(*other)))?;
    let (first, other) = (shown(first), shown(other));
    Some(format!(
        "{what} is {first} s in one place and {other} s in another"
    ))
}

/// Checks an event's waits, multiplied by their average, against its time.
fn average(row: &Row) -> Option<String> {
    let (waits, average, total) = (row.waits?, row.average_s?, row.event.total_s?);
    let computed = Range::of(waits).times(Range::of(average));
    (!computed.agrees(Range::of(total))).then(|| {
        let average_ms = Printed {
            value: 1000.0 * average.value,
            half_unit: 1000.0 * average.half_unit,
        };
        format!(
            "{}: {} of {} ms take {:.1} s, not {} s",
            row.event.name,
            counted(shown(waits), "wait"),
            shown(average_ms),
            waits.value * average.value,
            shown(total)
        )
    })
}

/// Checks the time of an event against its share of DB time.
fn share(row: &Row, db_time: Printed) -> Option<String> {
    let (total, share) = (row.event.total_s?, row.event.share_of_db_time?);
    let computed = Range::of(total).over(Range::of(db_time));
    (!computed.agrees(Range::of(share))).then(|| {
        format!(
            "{}: {} s of a DB time of {} s are {:.1} %, not {:.1} %",
            row.event.name,
            shown(total),
            shown(db_time),
            100.0 * total.value / db_time.value,
            100.0 * share.value
        )
    })
}

/// Remarks if the shares exceed the whole DB time.
fn shares<'r>(rows: impl Iterator<Item = &'r Row>) -> Option<String> {
    let shares = rows.filter_map(|row| row.event.share_of_db_time);
    let (sum, least) = shares.fold((0.0, 0.0), |(sum, least), share| {
        (sum + share.value, least + Range::of(share).low)
    });
    (least > 1.0 + 1e-9).then(|| {
        let percent = 100.0 * sum;
        format!("the shares of the top events add up to {percent:.1} % of DB time")
    })
}

/// A figure with the digits printed.
fn shown(printed: Printed) -> String {
    let places = (-(2.0 * printed.half_unit).log10().round()).clamp(0.0, 9.0);
    format!("{:.*}", places as usize, printed.value)
}

#[cfg(test)]
mod tests {
    use super::{remark, seconds_of_day, shown};
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
        // Article 001, test 4 and test 1, over the 5 minutes that the author states.
        check(1627.8, 300.0, 5.4, None);
        check(
            2700.6,
            300.0,
            8.9,
            Some(
                "DB CPU of 2700.6 s at 8.9 per second (load profile) takes 301.7 to 305.2 s, not \
                 300.0 s",
            ),
        );
    }

    #[test]
    fn figures_are_shown_with_the_digits_they_were_printed_with() {
        let check = |value, half_unit, expected: &str| {
            assert_eq!(shown(Printed { value, half_unit }), expected);
        };
        check(1065.4, 0.05, "1065.4");
        check(1065.0, 0.5, "1065");
        check(144_100.0, 50.0, "144100");
        check(2706.0, 0.3, "2706");
        check(0.0005, 0.000_000_5, "0.000500");
    }

    #[test]
    fn the_time_of_day_is_the_last_word_of_a_snapshot_time() {
        assert_eq!(seconds_of_day("02-Feb-26 08:05:15"), Some(29_115));
        for wrong in ["", "02-Feb-26", "24:00:00", "08:60:00", "08:00", "a:b:c"] {
            assert_eq!(seconds_of_day(wrong), None, "{wrong}");
        }
    }
}
