//! Formats the figures of matrices.

use model::PageKind;

use crate::run_figures::decimals;

/// Formats a latency: one decimal below 1000 ns, none above.
pub(crate) fn ns(value: f64) -> String {
    decimals(value, if value.abs() < 999.95 { 1 } else { 0 })
}

/// Formats a latency for classes and sentences: one decimal below 100 ns, none above.
pub(crate) fn short_ns(value: f64) -> String {
    decimals(value, if value.abs() < 99.95 { 1 } else { 0 })
}

/// Formats a range: `211 to 217`, or `248` where both ends look alike.
pub(crate) fn ns_range(low: f64, high: f64) -> String {
    let (low, high) = (short_ns(low), short_ns(high));
    if low == high {
        return low;
    }
    format!("{low} to {high}")
}

/// Formats a bandwidth in GB/s (10^9 bytes), without the unit.
pub(crate) fn gigabytes_per_s(bytes_per_s: f64) -> String {
    decimals(bytes_per_s / 1e9, 1)
}

/// Formats a size in the largest binary unit not above it, with at most one decimal: `32 KiB`, `1.5
/// MiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (1 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1 << 20, "MiB"),
        (1 << 10, "KiB"),
    ];
    let Some((unit, name)) = UNITS.into_iter().find(|(unit, _)| bytes >= *unit) else {
        return format!("{bytes} bytes");
    };
    let number = format!("{:.1}", bytes as f64 / unit as f64);
    format!("{} {name}", number.strip_suffix(".0").unwrap_or(&number))
}

/// Describes pages: `transparent huge pages, 2 MiB each`.
pub(crate) fn pages(kind: PageKind, page_bytes: u64) -> String {
    format!("{}, {} each", kind.meaning(), size(page_bytes))
}

#[cfg(test)]
mod tests {
    use super::{ns, ns_range, short_ns, size};

    #[test]
    fn figures_have_as_many_decimals_as_mean_something() {
        assert_eq!(ns(53.21), "53.2");
        assert_eq!(ns(1234.5), "1,234");
        assert_eq!(ns(f64::NAN), "-");
        assert_eq!(short_ns(248.3), "248");
        assert_eq!(ns_range(211.4, 217.1), "211 to 217");
        assert_eq!(ns_range(53.2, 53.2), "53.2");
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(0), "0 bytes");
        assert_eq!(size(1 << 10), "1 KiB");
        assert_eq!(size(1536 << 10), "1.5 MiB");
        assert_eq!(size(32 << 20), "32 MiB");
        assert_eq!(size(u64::MAX), "16777216 TiB");
    }
}
