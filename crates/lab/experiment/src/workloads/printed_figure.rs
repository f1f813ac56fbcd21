//! Reads one number as programs print it: with separators, decimal commas, SI suffixes and units,
//! in the unit of the experiment. Pure. What may mean two numbers is refused.

use super::printed_unit::factor;

/// Reads the first number of a text, which is one word, or what an expression captured: a number,
/// and perhaps its unit. Returns `None` if there is none.
///
/// # Errors
/// Why it may be another number, as a lower-case fragment.
pub(super) fn figure_in(text: &str, unit: &str) -> Option<Result<f64, String>> {
    let begins = text.find(|it: char| it.is_ascii_digit())?;
    let before = &text[..begins];
    let point = before.ends_with('.');
    let before = before.strip_suffix('.').unwrap_or(before);
    let is_negative = before.ends_with(['-', '\u{2212}']);
    let rest = &text[begins..];
    let ends = rest.find(|it| !is_of_digits(it)).unwrap_or(rest.len());
    // A separator at the end belongs to the sentence.
    let digits = rest[..ends].trim_end_matches(is_separator);
    let exponent = exponent(&rest[digits.len()..]);
    let suffix = &rest[digits.len() + exponent.len()..];
    let read = match point {
        true => decimal(&format!("0.{digits}")),
        false => decimal(digits),
    };
    let read = read.and_then(|plain| {
        let factor = factor(suffix, unit).map_err(|why| format!("{digits}, but {why}"))?;
        let not_a_number = || format!("{digits}{exponent}, which is not a number");
        let power = exponent.trim_start_matches(['e', 'E']);
        let power = if power.is_empty() { "0" } else { power };
        let power: i32 = power.parse().map_err(|_| not_a_number())?;
        let power = power.saturating_add(factor.ten);
        let number: f64 = format!("{plain}e{power}")
            .parse()
            .map_err(|_| not_a_number())?;
        let sign = if is_negative { -1.0 } else { 1.0 };
        Ok(number * factor.rest * sign)
    });
    Some(read)
}

fn is_of_digits(character: char) -> bool {
    character.is_ascii_digit() || is_separator(character)
}

/// Points, commas, and what sets groups of digits apart: apostrophes and spaces that do not break.
fn is_separator(character: char) -> bool {
    matches!(
        character,
        '.' | ',' | '\'' | '\u{2019}' | '\u{a0}' | '\u{202f}'
    )
}

/// The exponent at the start of a text: `e3` of `e3 rows`, and nothing of `eggs`.
fn exponent(text: &str) -> &str {
    let Some(after) = text.strip_prefix(['e', 'E']) else {
        return "";
    };
    let sign = usize::from(after.starts_with(['+', '-']));
    let digits = after[sign..].find(|it: char| !it.is_ascii_digit());
    match digits.unwrap_or(after.len() - sign) {
        0 => "",
        digits => &text[..1 + sign + digits],
    }
}

/// Writes digits with separators as a number with a decimal point.
fn decimal(digits: &str) -> Result<String, String> {
    let mut kinds: Vec<char> = Vec::new();
    for separator in digits.chars().filter(|it| is_separator(*it)) {
        if kinds.last() != Some(&separator) {
            kinds.push(separator);
        }
    }
    let is_grouped = |text: &str, by: char| {
        let mut groups = text.split(by);
        let first = groups.next().unwrap_or_default();
        (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3)
    };
    let unclear = || {
        format!(
            "{digits}, which may be several numbers: have the program print it without separators \
             of thousands and with a decimal point (LC_ALL=C)"
        )
    };
    match kinds[..] {
        [] => Ok(digits.to_owned()),
        [one @ ('.' | ',')] if digits.matches(one).count() == 1 => {
            let (whole, part) = digits.split_once(one).unwrap_or((digits, ""));
            // 1,234 is 1234 or 1.234; 0,234 and 1234,567 have no thousands.
            let may_be_thousands = one == ',' && is_grouped(digits, one) && whole != "0";
            match may_be_thousands {
                true => Err(unclear()),
                false => Ok(format!("{whole}.{part}")),
            }
        }
        [one] if is_grouped(digits, one) => Ok(digits.replace(one, "")),
        [thousands, point @ ('.' | ',')] if digits.matches(point).count() == 1 => {
            let (whole, part) = digits.split_once(point).unwrap_or((digits, ""));
            match is_grouped(whole, thousands) {
                true => Ok(format!("{}.{part}", whole.replace(thousands, ""))),
                false => Err(unclear()),
            }
        }
        _ => Err(unclear()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_read_as_programs_of_all_countries_print_them() {
        let check = |text: &str, expected: f64| {
            let found = figure_in(text, "reported").unwrap();
            assert_eq!(found, Ok(expected), "{text}");
        };
        check("1600.5", 1600.5);
        check("1,600.5", 1600.5);
        check("1.600,5", 1600.5);
        check("1234,56", 1234.56);
        check("1534,5", 1534.5);
        check("0,125", 0.125);
        check("1234,567", 1234.567);
        check("1,234,567", 1_234_567.0);
        check("1.234.567", 1_234_567.0);
        check("1'234.5", 1234.5);
        check("1\u{a0}234,5", 1234.5);
        check("1\u{202f}234\u{202f}567", 1_234_567.0);
        check("tps=12.", 12.0);
        check("(12),", 12.0);
        check(".5", 0.5);
        check("-.5", -0.5);
        check("-7", -7.0);
        check("1.5e3", 1500.0);
        check("1e-3", 0.001);
        check("3eggs", 3.0);
        check("12%", 12.0);
        assert!(figure_in("none", "reported").is_none());
    }

    #[test]
    fn what_may_be_two_numbers_is_refused() {
        for text in [
            "1,234",
            "12,345",
            "1.2.3.4",
            "1,23,456",
            "1.234,567,8",
            "1,2.3,4",
        ] {
            let refused = figure_in(text, "reported").unwrap().unwrap_err();
            assert!(refused.contains("may be several numbers"), "{refused}");
        }
        let clock = figure_in("01:30", "s").unwrap().unwrap_err();
        assert!(clock.contains(":30"), "{clock}");
    }

    proptest! {
        #[test]
        fn a_number_is_read_as_it_was_printed(number in 0.001_f64..1e12) {
            let read = figure_in(&format!("tps={number};"), "tps").unwrap();
            prop_assert_eq!(read, Ok(number));
        }

        #[test]
        fn no_text_panics(text in "[-+.,'eE0-9 a-zµé:\u{a0}]{0,30}", unit in "[a-zA-Zµ/]{0,6}") {
            let _ = figure_in(&text, &unit);
        }
    }
}
