//! Figures as findings print them.

use model::{NodeSet, node_words};

/// `53.2 ns`, `248 ns`.
pub(crate) fn ns(value: f64) -> String {
    format!("{} ns", number(value))
}

/// `211 to 217 ns`; `248 ns` where both print alike.
pub(crate) fn ns_range(low: f64, high: f64) -> String {
    if number(low) == number(high) {
        return ns(low);
    }
    format!("{} to {}", number(low), ns(high))
}

/// One decimal below 100, none from there on.
fn number(value: f64) -> String {
    if value.abs() < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// `14 to 17 %`, `9 %`: whole percents of shares, truncated so that a finding never overstates.
pub(crate) fn percent_range(low: f64, high: f64) -> String {
    let (low, high) = (percent(low), percent(high));
    if low == high {
        return format!("{low} %");
    }
    format!("{low} to {high} %")
}

/// A share in whole percents, truncated, but not where only rounding error makes it less.
fn percent(share: f64) -> i64 {
    (share * 100.0 + 1e-9).floor() as i64
}

/// `1.9`, `4.0 to 4.7`: how many times.
pub(crate) fn times_range(low: f64, high: f64) -> String {
    let (low, high) = (format!("{low:.1}"), format!("{high:.1}"));
    if low == high {
        return low;
    }
    format!("{low} to {high}")
}

/// `node 3`, `nodes 1-2`.
pub(crate) fn nodes(set: &NodeSet) -> String {
    node_words(set)
}

#[cfg(test)]
mod tests {
    use super::{ns, ns_range, percent_range, times_range};

    #[test]
    fn figures_say_no_more_than_is_known() {
        assert_eq!(ns(53.21), "53.2 ns");
        assert_eq!(ns(99.96), "100 ns");
        assert_eq!(ns_range(211.4, 217.1), "211 to 217 ns");
        assert_eq!(ns_range(248.0, 248.3), "248 ns");
        assert_eq!(
            percent_range(248.0 / 217.0 - 1.0, 248.0 / 211.0 - 1.0),
            "14 to 17 %"
        );
        assert_eq!(percent_range(0.1, 0.1), "10 %");
        assert_eq!(times_range(3.98, 4.68), "4.0 to 4.7");
        assert_eq!(times_range(1.9, 1.9), "1.9");
    }
}
