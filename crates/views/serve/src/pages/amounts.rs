//! Amounts with their units; what is unknown is a dash with its meaning on hover.

/// The mark for what is unknown.
pub(super) const UNKNOWN: &str = "<span title=\"unknown\">–</span>";

/// Formats bytes with a binary unit.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(super) fn bytes(amount: Option<u64>) -> String {
    let Some(amount) = amount else {
        return UNKNOWN.to_owned();
    };
    let mut value = amount as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return scaled(value, unit);
        }
        value /= 1024.0;
    }
    scaled(value, "TiB")
}

fn scaled(value: f64, unit: &str) -> String {
    let places = usize::from(value < 100.0 && unit != "B");
    format!("{value:.places$} {unit}")
}

/// Formats a share, 0 to 1, in percent.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or(UNKNOWN.to_owned(), |share| {
        format!("{:.1} %", 100.0 * share)
    })
}

/// Formats a number of things.
pub(super) fn count(count: Option<u64>) -> String {
    count.map_or(UNKNOWN.to_owned(), |count| count.to_string())
}

/// Formats a rate per second.
pub(super) fn rate(per_s: Option<f64>) -> String {
    per_s.map_or(UNKNOWN.to_owned(), |rate| format!("{rate:.0}"))
}

/// Formats CPUs in use.
pub(super) fn cpus(cpus: Option<f64>) -> String {
    cpus.map_or(UNKNOWN.to_owned(), |cpus| format!("{cpus:.2}"))
}

/// Formats a time from now in the unit in which one speaks of it.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        it if it < 120.0 => format!("{it:.0} s"),
        it if it < 7200.0 => format!("{:.0} min", it / 60.0),
        it if it < 172_800.0 => format!("{:.0} h", it / 3600.0),
        it => format!("{:.0} days", it / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units() {
        assert_eq!(bytes(Some(0)), "0 B");
        assert_eq!(bytes(Some(1536)), "1.5 KiB");
        assert_eq!(bytes(Some(u64::MAX)), "16777216 TiB");
        assert_eq!(bytes(None), UNKNOWN);
        assert_eq!(percent(Some(0.125)), "12.5 %");
        assert_eq!(time(600.0), "10 min");
        assert_eq!(
            (rate(Some(99.6)), cpus(Some(0.5))),
            ("100".to_owned(), "0.50".to_owned())
        );
        assert_eq!(
            (rate(None), count(None)),
            (UNKNOWN.to_owned(), UNKNOWN.to_owned())
        );
    }
}
