//! A number of bytes as people write it: `256 MiB`, `1G`, `8 KiB`. All units are powers of 1024.
//!
//! Documents hold plain integers in fields named `_bytes`; this type only formats and parses them.

use std::fmt;
use std::str::FromStr;

use crate::Error;
use crate::error::shortened;

/// A number of bytes.
///
/// Displayed in the largest IEC unit it reaches with up to two decimals (`129.75 GiB`), or with a
/// fixed number of decimals when a precision is given (`{:.1}`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

/// IEC units, each 1024 times the one before (IEC 80000-13).
const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(2);
        let mut unit = 0;
        while unit + 1 < UNITS.len() && self.0 >> (10 * (unit + 1)) > 0 {
            unit += 1;
        }
        let mut number = decimal(self.0, unit, decimals);
        if number.starts_with("1024") && unit + 1 < UNITS.len() {
            // 1023.999 MiB rounds to the next unit.
            unit += 1;
            number = decimal(self.0, unit, decimals);
        }
        if f.precision().is_none() && number.contains('.') {
            let trimmed = number.trim_end_matches('0').trim_end_matches('.').len();
            number.truncate(trimmed);
        }
        f.pad_integral(true, "", &format!("{number} {}", UNITS[unit]))
    }
}

/// `bytes` in units of 1024 to the power `unit`, rounded half up; whole bytes have no decimals.
fn decimal(bytes: u64, unit: usize, decimals: usize) -> String {
    if unit == 0 || decimals == 0 {
        let one = 1_u128 << (10 * unit);
        return ((u128::from(bytes) + one / 2) >> (10 * unit)).to_string();
    }
    let scale = 10_u128.pow(decimals.min(6) as u32);
    let one = 1_u128 << (10 * unit);
    let scaled = (u128::from(bytes) * scale + one / 2) / one;
    format!(
        "{}.{:0width$}",
        scaled / scale,
        scaled % scale,
        width = decimals.min(6)
    )
}

impl FromStr for ByteSize {
    type Err = Error;

    /// Reads `8192`, `8 KiB`, `256MiB`, `1G`, `24576K`, `2048 kB`, `1.5 GiB`. The units of the
    /// kernel (`kB`) and of databases (`MB`) are powers of 1024 as well; case does not matter.
    fn from_str(text: &str) -> Result<Self, Error> {
        let malformed = |expected| Error::ByteSize {
            expected,
            found: shortened(text),
        };
        let expected = "a size such as 8192, 8 KiB, 256MiB or 1G";
        let text = text.trim();
        let number_len = text
            .bytes()
            .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
            .count();
        let (number, unit) = text.split_at(number_len);
        let exponent = exponent(unit.trim_start()).ok_or_else(|| malformed(expected))?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        if whole.is_empty() || fraction.is_empty() || fraction.len() > 9 || whole.len() > 20 {
            return Err(malformed(expected));
        }
        let whole: u128 = whole.parse().map_err(|_| malformed(expected))?;
        let scale = 10_u128.pow(fraction.len() as u32);
        let fraction: u128 = fraction.parse().map_err(|_| malformed(expected))?;
        if fraction > 0 && exponent == 0 {
            return Err(malformed("a whole number of bytes"));
        }
        (whole * scale + fraction)
            .checked_mul(1 << (10 * exponent))
            .and_then(|scaled| u64::try_from((scaled + scale / 2) / scale).ok())
            .map(Self)
            .ok_or_else(|| malformed("less than 16 EiB"))
    }
}

/// The power of 1024 that a unit stands for.
fn exponent(unit: &str) -> Option<u32> {
    const PREFIXES: [&str; 6] = ["k", "m", "g", "t", "p", "e"];
    let unit = unit.to_ascii_lowercase();
    if unit.is_empty() || unit == "b" {
        return Some(0);
    }
    let prefix = unit
        .strip_suffix("ib")
        .or_else(|| unit.strip_suffix('b'))
        .unwrap_or(&unit);
    let index = PREFIXES.iter().position(|known| *known == prefix)?;
    Some(index as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn sizes_are_shown_in_the_largest_unit_they_reach() {
        let check = |bytes, expected: &str| assert_eq!(ByteSize(bytes).to_string(), expected);
        check(0, "0 B");
        check(1023, "1023 B");
        check(1024, "1 KiB");
        check(8192, "8 KiB");
        check(256 * MIB, "256 MiB");
        check(132_864 * MIB, "129.75 GiB");
        check(24576 * 1024, "24 MiB");
        check(1024 * MIB - 1, "1 GiB");
        check(MIB + MIB / 2, "1.5 MiB");
        check(u64::MAX, "16 EiB");
    }

    #[test]
    fn a_precision_fixes_the_decimals_and_a_width_aligns_to_the_right() {
        assert_eq!(format!("{:.1}", ByteSize(256 * MIB)), "256.0 MiB");
        assert_eq!(format!("{:.0}", ByteSize(MIB + MIB / 2)), "2 MiB");
        assert_eq!(format!("{:.1}", ByteSize(100)), "100 B");
        assert_eq!(format!("{:>10}", ByteSize(256 * MIB)), "   256 MiB");
        assert_eq!(format!("{:.1}", ByteSize(1024 * MIB - 1)), "1.0 GiB");
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let check = |text: &str, bytes| {
            assert_eq!(text.parse::<ByteSize>().unwrap(), ByteSize(bytes), "{text}");
        };
        check("8192", 8192);
        check("8192 B", 8192);
        check("8 KiB", 8192);
        check("8kib", 8192);
        check("256MiB", 256 * MIB);
        check("256MB", 256 * MIB);
        check("1G", 1024 * MIB);
        check("1g", 1024 * MIB);
        check("24576K", 24 * MIB);
        check("2048 kB", 2 * MIB);
        check(" 1.5 GiB\n", 1536 * MIB);
        check("15.99999 EiB", 18_446_732_544_494_505_548);
        check("18446744073709551615", u64::MAX);
    }

    #[test]
    fn malformed_sizes_say_what_was_expected() {
        let check = |text: &str, expected: &str| {
            let error = text.parse::<ByteSize>().unwrap_err().to_string();
            assert_eq!(error, format!("expected {expected}, found {text:?}"));
        };
        let any = "a size such as 8192, 8 KiB, 256MiB or 1G";
        for text in [
            "",
            "-1",
            "K",
            "1.K",
            ".5K",
            "1..5K",
            "1x",
            "1 K B",
            "0.0000000001 G",
            "1 é",
        ] {
            check(text, any);
        }
        check("1.5", "a whole number of bytes");
        check("16E", "less than 16 EiB");
        check("18446744073709551616", "less than 16 EiB");
        check("99999999999999999999E", "less than 16 EiB");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = text.parse::<ByteSize>();
        }

        #[test]
        fn no_text_like_a_size_panics(
            text in "[0-9]{0,25}[.]?[0-9]{0,12} ?[kKmMgGtTpPeE]?(i?[bB])?",
        ) {
            let _ = text.parse::<ByteSize>();
        }

        #[test]
        fn whole_units_round_trip(count in 1..1024_u64, unit in 0..6_u32) {
            let size = ByteSize(count << (10 * unit));
            prop_assert_eq!(size.to_string().parse::<ByteSize>().unwrap(), size);
        }

        #[test]
        fn no_size_panics_when_shown(bytes: u64, decimals in 0..12_usize) {
            let _ = format!("{:.*}", decimals, ByteSize(bytes));
        }
    }
}
