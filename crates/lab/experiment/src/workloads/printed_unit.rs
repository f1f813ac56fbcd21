//! The unit that a program prints after a number, and that of the experiment. Pure.

/// What a number is multiplied by: a power of ten, which a decimal number takes exactly, and the
/// rest, such as 60 or 1024.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Factor {
    /// The exponent of ten.
    pub ten: i32,
    /// The rest.
    pub rest: f64,
}

const ONE: Factor = ten(0);

const fn ten(ten: i32) -> Factor {
    Factor { ten, rest: 1.0 }
}

const fn times(rest: f64) -> Factor {
    Factor { ten: 0, rest }
}

impl Factor {
    fn over(self, other: Factor) -> Factor {
        Factor {
            ten: self.ten - other.ten,
            rest: self.rest / other.rest,
        }
    }
}

/// SI prefixes, and those of IEC 80000-13. `K` is a thousand: programs that mean 1024 write `Ki`.
const LARGE: [(&str, Factor); 11] = [
    ("Ki", times(1024.0)),
    ("Mi", times(1_048_576.0)),
    ("Gi", times(1_073_741_824.0)),
    ("Ti", times(1_099_511_627_776.0)),
    ("Pi", times(1_125_899_906_842_624.0)),
    ("k", ten(3)),
    ("K", ten(3)),
    ("M", ten(6)),
    ("G", ten(9)),
    ("T", ten(12)),
    ("P", ten(15)),
];
/// Those of times: µ is U+00B5 or U+03BC.
const SMALL: [(&str, Factor); 6] = [
    ("m", ten(-3)),
    ("u", ten(-6)),
    ("\u{b5}", ten(-6)),
    ("\u{3bc}", ten(-6)),
    ("n", ten(-9)),
    ("p", ten(-12)),
];
/// Words for times, in seconds. `m` alone is a minute, a thousandth or a million.
const TIMES: [(&str, Factor); 15] = [
    ("s", ONE),
    ("sec", ONE),
    ("secs", ONE),
    ("second", ONE),
    ("seconds", ONE),
    ("min", times(60.0)),
    ("mins", times(60.0)),
    ("minute", times(60.0)),
    ("minutes", times(60.0)),
    ("h", times(3600.0)),
    ("hour", times(3600.0)),
    ("hours", times(3600.0)),
    ("milliseconds", ten(-3)),
    ("microseconds", ten(-6)),
    ("nanoseconds", ten(-9)),
];
/// Words for amounts of data.
const AMOUNTS: [(&str, &str); 8] = [
    ("B", "byte"),
    ("byte", "byte"),
    ("bytes", "byte"),
    ("Bytes", "byte"),
    ("b", "bit"),
    ("bit", "bit"),
    ("bits", "bit"),
    ("Bit", "bit"),
];
/// Words for a second below a fraction line.
const SECONDS: [&str; 4] = ["s", "sec", "second", "Sec"];

/// A unit that is known: so many of what it counts, by something else perhaps.
#[derive(Clone, Debug, PartialEq)]
struct Unit<'w> {
    of: &'static str,
    per: Option<&'w str>,
    factor: Factor,
}

/// Returns what a number with this text after it is multiplied by, to be in the unit of the
/// experiment.
///
/// # Errors
/// When the unit is another kind, or may be two, as a lower-case fragment.
pub(super) fn factor(suffix: &str, unit: &str) -> Result<Factor, String> {
    let suffix = suffix.trim_start();
    let continues = |it: char| it.is_ascii_digit() || matches!(it, '.' | ',');
    if let Some(after) = suffix.strip_prefix([':', '-', '/'])
        && after.starts_with(|it: char| it.is_ascii_digit())
    {
        return Err(format!(
            "{suffix:?} follows it: a date, a time of day or a fraction is not one number"
        ));
    }
    let is_of_unit = |it: char| it.is_alphabetic() || matches!(it, '/' | '\u{b5}' | '%');
    let ends = suffix.find(|it| !is_of_unit(it)).unwrap_or(suffix.len());
    let (word, after) = suffix.split_at(ends);
    let word = word.trim_end_matches('/');
    if word.is_empty() || word == unit {
        return Ok(ONE);
    }
    if after.starts_with(continues) && of_word(word).is_some() {
        return Err(format!(
            "{suffix:?} follows it: several units are not one number"
        ));
    }
    if let Some((_, large)) = LARGE.iter().find(|(prefix, _)| *prefix == word) {
        return Ok(*large);
    }
    let other = || {
        format!(
            "its unit is {word:?} and `unit` is {unit:?}: set `unit` to that of the number, or \
             select the number alone with `regex:`"
        )
    };
    match (of_word(word), of_word(unit)) {
        (Some(found), Some(asked)) if found.of == asked.of && found.per == asked.per => {
            Ok(found.factor.over(asked.factor))
        }
        (Some(_), _) => Err(other()),
        (None, _) if SMALL.iter().any(|(prefix, _)| *prefix == word) => Err(other()),
        // Other words are none of a number's: 3eggs.
        (None, _) => Ok(with_prefixes(word, unit).unwrap_or(ONE)),
    }
}

/// The ratio of two units that differ in their prefix, whatever they count: ktps and tps.
fn with_prefixes(word: &str, unit: &str) -> Option<Factor> {
    let prefixes = || LARGE.iter().copied().chain([("", ONE)]);
    let stems =
        prefixes().filter_map(|(prefix, factor)| Some((word.strip_prefix(prefix)?, factor)));
    let mut pairs = stems.flat_map(|(stem, found)| {
        let asked = prefixes().filter(move |(prefix, _)| unit.strip_prefix(*prefix) == Some(stem));
        asked.map(move |(_, asked)| found.over(asked))
    });
    pairs.next().filter(|_| !unit.is_empty())
}

/// The unit that a word is; `None` if it is none that is known.
fn of_word(word: &str) -> Option<Unit<'_>> {
    let (word, per) = match word.split_once('/') {
        Some((of, per)) if SECONDS.contains(&per) => (of, Some("s")),
        Some((of, per)) => (of, Some(per)),
        // 12MBps, and not 3 ps.
        None => match word.strip_suffix("ps").filter(|of| amount(of).is_some()) {
            Some(of) => (of, Some("s")),
            None => (word, None),
        },
    };
    let (of, factor) = time(word)
        .map(|factor| ("time", factor))
        .or_else(|| amount(word))?;
    Some(Unit { of, per, factor })
}

/// The seconds of a word for times.
fn time(word: &str) -> Option<Factor> {
    let known = TIMES.iter().find(|(name, _)| *name == word);
    let short = || {
        let (_, factor) = SMALL.iter().find(|(prefix, _)| {
            let rest = word.strip_prefix(prefix);
            rest.is_some_and(|rest| ["s", "sec", "secs"].contains(&rest))
        })?;
        Some(*factor)
    };
    known.map(|(_, factor)| *factor).or_else(short)
}

/// What a word for amounts of data counts, and how many.
fn amount(word: &str) -> Option<(&'static str, Factor)> {
    let counted = |word: &str| AMOUNTS.iter().find(|(name, _)| *name == word);
    let prefixes = LARGE.iter().copied().chain([("", ONE)]);
    let mut known = prefixes.filter_map(|(prefix, factor)| {
        let (_, of) = counted(word.strip_prefix(prefix)?)?;
        Some((*of, factor))
    });
    known.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_become_that_of_the_experiment() {
        let check = |suffix: &str, unit: &str, expected: f64| {
            let found = factor(suffix, unit).unwrap();
            let found = found.rest * 10_f64.powi(found.ten);
            let is_near = (found / expected - 1.0).abs() < 1e-12;
            assert!(is_near, "{suffix:?} {unit:?}: {found}");
        };
        // fio: 1.02ms, 635.91us, 998k, 1.02M, MiB/s.
        check("ms", "us", 1000.0);
        check("us", "us", 1.0);
        check("\u{b5}s", "us", 1.0);
        check("usec)", "ms", 1e-3);
        check("k", "IOPS", 1e3);
        check("M", "reported", 1e6);
        check("Ki", "reported", 1024.0);
        check("MiB/s", "MiB/s", 1.0);
        check("GiB/s", "MiB/s", 1024.0);
        check("MB/sec", "MiB/s", 1e6 / 1_048_576.0);
        check("Gbits/sec", "Mbit/s", 1e3);
        check("MBps", "MB/s", 1.0);
        check("ktps", "tps", 1e3);
        check("Mreq/s", "kreq/s", 1e3);
        check("req/s", "req/s", 1.0);
        check("ms/op", "us/op", 1000.0);
        check(" min", "s", 60.0);
        check("", "us", 1.0);
        check(" (without initial time)", "tps", 1.0);
        check("eggs", "reported", 1.0);
        check("%", "%", 1.0);
    }

    #[test]
    fn another_kind_of_unit_is_refused_and_what_may_be_two() {
        let check = |suffix: &str, unit: &str, expected: &str| {
            let refused = factor(suffix, unit).unwrap_err();
            assert!(refused.contains(expected), "{suffix:?} {unit:?}: {refused}");
        };
        check("s", "tps", "its unit is \"s\" and `unit` is \"tps\"");
        check("ms", "reported", "set `unit` to that of the number");
        check("MB", "MB/s", "its unit is \"MB\"");
        check("Mbit/s", "MB/s", "its unit is \"Mbit/s\"");
        check("us/op", "us", "its unit is \"us/op\"");
        check("m", "s", "its unit is \"m\"");
        check("m30s", "s", "its unit is \"m\"");
        check("min30s", "s", "several units");
        check(":30", "s", "a time of day");
        check("-11-27", "reported", "a date");
    }
}
