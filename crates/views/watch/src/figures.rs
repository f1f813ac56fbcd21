//! Figures as text: each with its unit, as short as a column needs. What is unknown is `?`.

use jiff::Timestamp;
use model::ByteSize;

/// What stands for a figure that is not known.
pub(crate) const UNKNOWN: &str = "?";

/// Characters that a number of bytes has room for.
const BYTES_WIDTH: usize = 8;

/// Returns bytes with a unit, at most 8 characters below 1000 EiB.
pub(crate) fn bytes(bytes: Option<u64>) -> String {
    let Some(bytes) = bytes else {
        return UNKNOWN.to_owned();
    };
    let exact = format!("{:.1}", ByteSize(bytes));
    match exact.len() > BYTES_WIDTH {
        true => format!("{:.0}", ByteSize(bytes)),
        false => exact,
    }
}

/// Returns bytes by which something grows per second, with a sign, in at most 8 characters below
/// 1000 EiB; the time is in the heading.
pub(crate) fn growth(bytes_per_s: Option<f64>) -> String {
    let Some(bytes_per_s) = bytes_per_s.filter(|it| it.is_finite()) else {
        return UNKNOWN.to_owned();
    };
    // Beyond what 64 bits hold, the figure is damaged.
    let size = ByteSize(bytes_per_s.abs().round() as u64);
    let sign = match size.0 {
        0 => return "0".to_owned(),
        _ if bytes_per_s < 0.0 => '-',
        _ => '+',
    };
    let exact = format!("{sign}{size:.1}");
    let whole = format!("{sign}{size:.0}");
    let has_room = |text: &String| text.len() <= BYTES_WIDTH;
    let shortest = whole.replace(' ', "");
    [exact, whole]
        .into_iter()
        .find(has_room)
        .unwrap_or(shortest)
}

/// Returns a number of things per second, such as `12.3k`; the unit is in the heading.
pub(crate) fn rate(per_s: Option<f64>) -> String {
    let Some(per_s) = per_s.filter(|it| it.is_finite()) else {
        return UNKNOWN.to_owned();
    };
    let mut value = per_s;
    let mut unit = "";
    for larger in ["k", "M", "G"] {
        if value < 999.5 {
            break;
        }
        value /= 1000.0;
        unit = larger;
    }
    let decimals = match (value, unit) {
        (0.0, _) => 0,
        (value, _) if value < 9.95 => 1,
        (value, "k" | "M" | "G") if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}{unit}")
}

/// Returns a share, given as 0 to 1, in percent.
pub(crate) fn share(share: Option<f64>) -> String {
    match share.filter(|it| it.is_finite()) {
        None => UNKNOWN.to_owned(),
        Some(share) if share > 0.0 && share < 0.005 => "<1 %".to_owned(),
        Some(share) if share > 0.995 && share < 1.0 => ">99 %".to_owned(),
        Some(share) => format!("{:.0} %", share * 100.0),
    }
}

/// Returns CPUs used, such as `1.52`.
pub(crate) fn cpus(cpus: Option<f64>) -> String {
    match cpus.filter(|it| it.is_finite()) {
        None => UNKNOWN.to_owned(),
        Some(cpus) if cpus >= 99.95 => format!("{cpus:.0}"),
        Some(cpus) if cpus >= 9.995 => format!("{cpus:.1}"),
        Some(cpus) => format!("{cpus:.2}"),
    }
}

/// Returns a time span in its largest unit, such as `3 s` or `2 min`.
pub(crate) fn span(seconds: f64) -> String {
    match seconds.max(0.0) {
        seconds if !seconds.is_finite() => UNKNOWN.to_owned(),
        seconds if seconds < 99.5 => format!("{seconds:.0} s"),
        seconds if seconds < 5970.0 => format!("{:.0} min", seconds / 60.0),
        seconds if seconds < 48.0 * 3600.0 => format!("{:.0} h", seconds / 3600.0),
        seconds => format!("{:.0} days", seconds / 86_400.0),
    }
}

/// Returns a moment, in seconds since 1970-01-01 UTC, as `2026-11-23 03:30:12 UTC`; one that no
/// calendar has is a damaged figure.
pub(crate) fn moment(seconds: f64) -> String {
    let whole = (seconds >= 0.0).then_some(seconds as i64);
    let moment = whole.and_then(|whole| Timestamp::from_second(whole).ok());
    moment.map_or("time unknown".to_owned(), |moment| {
        moment.strftime("%F %T UTC").to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_figures_are_never_zero() {
        for text in [
            growth(None),
            bytes(None),
            rate(None),
            share(None),
            cpus(None),
        ] {
            assert_eq!(text, "?");
        }
        assert_eq!(rate(Some(f64::NAN)), "?");
        assert_eq!(share(Some(f64::INFINITY)), "?");
    }

    #[test]
    fn bytes_fit_into_eight_columns() {
        let check = |number, expected: &str| assert_eq!(bytes(Some(number)), expected);
        check(0, "0 B");
        check(1023, "1023 B");
        check(12 << 30, "12.0 GiB");
        check(755 << 30, "755 GiB");
        check(1 << 40, "1.0 TiB");
        assert!(bytes(Some(u64::MAX)).len() <= 8);
    }

    #[test]
    fn growth_has_a_sign_and_fits_into_eight_columns() {
        let check = |number, expected: &str| assert_eq!(growth(Some(number)), expected);
        check(0.3, "0");
        check(1.2e6, "+1.1 MiB");
        check(-1.2e6, "-1.1 MiB");
        check(1023.0 * 1024.0, "+1023KiB");
        check(12.0 * 1024.0 * 1024.0, "+12 MiB");
        check(f64::MIN, "-16 EiB");
    }

    #[test]
    fn rates_have_at_most_three_digits() {
        let check = |number, expected: &str| assert_eq!(rate(Some(number)), expected);
        check(0.0, "0");
        check(0.4, "0.4");
        check(12.0, "12");
        check(999.0, "999");
        check(999.9, "1.0k");
        check(12_345.0, "12.3k");
        check(1_234_567.0, "1.2M");
    }

    #[test]
    fn shares_near_the_ends_are_not_rounded_to_them() {
        let check = |number, expected: &str| assert_eq!(share(Some(number)), expected);
        check(0.0, "0 %");
        check(0.001, "<1 %");
        check(0.5, "50 %");
        check(0.999, ">99 %");
        check(1.0, "100 %");
    }

    #[test]
    fn moments_are_dates_of_the_calendar() {
        assert_eq!(moment(0.0), "1970-01-01 00:00:00 UTC");
        assert_eq!(moment(1_709_210_096.9), "2024-02-29 12:34:56 UTC");
        assert_eq!(moment(f64::NAN), "time unknown");
        assert_eq!(moment(-5.0), "time unknown");
        assert_eq!(moment(1e300), "time unknown");
    }

    #[test]
    fn spans_have_one_unit() {
        assert_eq!(span(2.6), "3 s");
        assert_eq!(span(600.0), "10 min");
        assert_eq!(span(7200.0), "2 h");
        assert_eq!(span(-1.0), "0 s");
    }
}
