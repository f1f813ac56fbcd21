//! Numbers in the notation of Oracle's reports.

use model::Printed;

/// Larger figures are errors in the text, and would overflow computations.
const FIGURE_MAX: f64 = 1e18;

/// Parses a figure: `6,323,758.9`, `.1`, `144.2K`, `66.57ms`. `None` for any other word.
///
/// The printed precision is half a unit of the last digit.
pub(crate) fn figure(word: &str) -> Option<Printed> {
    let end = word
        .find(|letter: char| !letter.is_ascii_digit() && letter != ',' && letter != '.')
        .unwrap_or(word.len());
    let (digits, suffix) = word.split_at(end);
    let factor = factor(suffix)?;
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, fraction),
        None => (digits, ""),
    };
    let is_grouped = whole
        .rsplit(',')
        .enumerate()
        .all(|(index, group)| !whole.contains(',') || is_group(group, index, whole));
    let plain: String = whole.chars().filter(|letter| *letter != ',').collect();
    if !is_grouped || fraction.contains([',', '.']) || (plain.is_empty() && fraction.is_empty()) {
        return None;
    }
    let value: f64 = format!("0{plain}.{fraction}0").parse().ok()?;
    let half_unit = 0.5 * 10f64.powi(-i32::try_from(fraction.len()).ok()?);
    let value = value * factor;
    (value <= FIGURE_MAX).then_some(Printed {
        value,
        half_unit: half_unit * factor,
    })
}

/// A line with its figures in the form of Oracle's default language: databases of other languages
/// group digits with blanks, which are no-break ones, or their replacement where the encoding is
/// unknown. Groups that plain blanks separate are joined if at least two blanks, or the end, follow
/// them, so that they are not the next column.
///
/// `None` where blanks may separate groups or columns.
pub(crate) fn ungrouped(line: &str) -> Option<String> {
    const GAPS: [char; 5] = ['\u{a0}', '\u{202f}', '\u{2007}', '\u{2009}', '\u{fffd}'];
    let is_gap = |letter: char| letter == ' ' || GAPS.contains(&letter);
    let letters: Vec<char> = line.chars().collect();
    let mut joined = String::with_capacity(line.len());
    let mut at = 0;
    while at < letters.len() {
        let is_inside = |it: char| it.is_ascii_alphanumeric() || it == '.' || it == ',';
        let begins = at == 0 || !is_inside(letters[at - 1]);
        let Some((end, is_plain)) = begins.then(|| groups(&letters[at..], is_gap)).flatten() else {
            joined.push(letters[at]);
            at += 1;
            continue;
        };
        let end = at + end;
        let follows = letters
            .get(end + 1)
            .filter(|_| letters.get(end) == Some(&' '));
        if is_plain && follows.is_some_and(char::is_ascii_digit) {
            return None;
        }
        let number = letters[at..end].iter();
        joined.extend(number.map(|letter| if is_gap(*letter) { ',' } else { *letter }));
        at = end;
    }
    Some(joined)
}

/// The length of a figure at the start of a text of which digits are grouped by blanks, and whether
/// one is a plain one; `None` if there is no such figure.
fn groups(letters: &[char], is_gap: impl Fn(char) -> bool) -> Option<(usize, bool)> {
    let digits = |from: usize| {
        let digits = letters[from..].iter().take_while(|it| it.is_ascii_digit());
        digits.count()
    };
    let first = digits(0);
    if !(1..=3).contains(&first) {
        return None;
    }
    let (mut end, mut is_plain) = (first, false);
    while letters.get(end).copied().is_some_and(&is_gap) && digits(end + 1) == 3 {
        is_plain |= letters[end] == ' ';
        end += 4;
    }
    if end == first {
        return None;
    }
    if letters.get(end) == Some(&'.') {
        end += 1 + digits(end + 1);
    }
    // A unit may follow, but not another group.
    let follows = letters.get(end).copied();
    follows
        .is_none_or(|it| it.is_whitespace() || it.is_ascii_alphabetic())
        .then_some((end, is_plain))
}

/// Whether a word is a figure that was too wide for its column: `##########`.
pub(crate) fn is_overflow(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte == b'#')
}

/// Whether a group of digits between commas is complete. `index` counts from the right.
fn is_group(group: &str, index: usize, whole: &str) -> bool {
    let is_first = index == whole.matches(',').count();
    match is_first {
        true => (1..=3).contains(&group.len()),
        false => group.len() == 3,
    }
}

/// Whether a word is a unit of time, which may be separated from its figure.
pub(crate) fn is_time_unit(word: &str) -> bool {
    ["s", "ms", "us", "ns"].contains(&word)
}

/// The factor of the suffix: none, thousands and up, or the unit of an average wait.
fn factor(suffix: &str) -> Option<f64> {
    match suffix {
        "" | "s" => Some(1.0),
        "K" => Some(1e3),
        "M" => Some(1e6),
        "G" => Some(1e9),
        "T" => Some(1e12),
        "ms" => Some(1e-3),
        "us" => Some(1e-6),
        "ns" => Some(1e-9),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, expected: Option<(f64, f64)>) {
        let found = figure(word).map(|it| (it.value, it.half_unit));
        assert_eq!(found, expected, "{word}");
    }

    #[test]
    fn figures_are_read_with_their_precision() {
        check("8.9", Some((8.9, 0.05)));
        check("6,323,758.9", Some((6_323_758.9, 0.05)));
        check(".1", Some((0.1, 0.05)));
        check("0", Some((0.0, 0.5)));
        check("1639", Some((1639.0, 0.5)));
        check("1,639", Some((1639.0, 0.5)));
        check("144.2K", Some((144_200.0, 50.0)));
        check("5.00", Some((5.0, 0.005)));
        assert!((figure("66.57ms").unwrap().value - 0.06657).abs() < 1e-12);
    }

    #[test]
    fn digits_grouped_by_blanks_are_one_figure() {
        for (line, expected) in [
            (
                "Logical reads:  5 000.0   12 345 678.9",
                "Logical reads:  5,000.0   12,345,678.9",
            ),
            (
                "Logical reads:\u{a0}5\u{a0}000.0 7.5",
                "Logical reads:\u{a0}5,000.0 7.5",
            ),
            (
                "Logical reads: 5\u{fffd}000.0 12\u{202f}345.0",
                "Logical reads: 5,000.0 12,345.0",
            ),
            ("Redo size:  8.9  58.8", "Redo size:  8.9  58.8"),
            (
                "Begin Snap: 1234 01-Jan-15 10:00:12  45  1.2",
                "Begin Snap: 1234 01-Jan-15 10:00:12  45  1.2",
            ),
            ("12 34  1234 567", "12 34  1234 567"),
        ] {
            assert_eq!(ungrouped(line).as_deref(), Some(expected));
        }
        assert_eq!(ungrouped("Logical reads: 5 000.0 12 345.6"), None);
    }

    #[test]
    fn other_words_are_no_figures() {
        for word in [
            "", ".", ",", "x", "2-way", "1,2", "1,2345", ",123", "1.2.3", "1.2,3", "-1", "1e5",
            "##", "SQL*Net", "1Q", "\u{661}",
        ] {
            check(word, None);
        }
        check(&"9".repeat(400), None);
        assert!(is_overflow("####") && !is_overflow("") && !is_overflow("#1"));
    }
}
