//! Extracts the number from a program's output. Pure.

use model::NumberPlace;

use super::printed_lines::shown;
use super::printed_table;

/// Returns the number at `place`. The error describes what is there instead, as a lower-case
/// fragment.
pub(super) fn number_in(text: &str, place: &NumberPlace) -> Result<f64, String> {
    let found = match place {
        NumberPlace::Last => last(text),
        NumberPlace::Line(line) => on_line(text, *line),
        NumberPlace::Regex(expression) => matched(text, expression),
        NumberPlace::Json(pointer) => field(text, pointer),
        NumberPlace::JsonLines(pointer) => printed_table::of_json_lines(text, pointer),
        NumberPlace::Csv(column) => printed_table::of_csv(text, column),
    }?;
    match found.is_finite() && found > 0.0 {
        true => Ok(found),
        false => Err(format!(
            "the number is {found}, but ratios need a number above 0"
        )),
    }
}

/// Parses a word as a number; accepts thousands separators, text before it and a unit after it.
fn parsed(word: &str) -> Option<f64> {
    let begins = word.find(|it: char| it.is_ascii_digit() || matches!(it, '-' | '+' | '.'))?;
    let word = word[begins..].replace(',', "");
    let of_number = |it: char| it.is_ascii_digit() || matches!(it, '.' | 'e' | 'E' | '-' | '+');
    let end = word.find(|it| !of_number(it)).unwrap_or(word.len());
    // "3eggs" parses as 3: drop trailing characters that do not parse.
    (1..=end)
        .rev()
        .find_map(|end| word.get(..end)?.parse().ok())
}

fn last(text: &str) -> Result<f64, String> {
    let found = text.split_whitespace().rev().find_map(parsed);
    found.ok_or_else(|| format!("no number in {}", shown(text)))
}

fn on_line(text: &str, number: u32) -> Result<f64, String> {
    let line = text.lines().nth(number as usize - 1);
    let line = line.ok_or_else(|| format!("no line {number} in {}", shown(text)))?;
    let mut found = line.split_whitespace().filter_map(parsed);
    match (found.next(), found.next()) {
        (Some(found), None) => Ok(found),
        (None, _) => Err(format!("line {number} has no number: {}", shown(line))),
        (Some(_), Some(_)) => Err(format!(
            "line {number} has more than one number (select one with regex:): {}",
            shown(line)
        )),
    }
}

fn matched(text: &str, expression: &str) -> Result<f64, String> {
    let by_line = format!("(?m){expression}");
    let compiled = regex_lite::Regex::new(&by_line).map_err(|error| error.to_string())?;
    let captures = compiled.captures_iter(text).last();
    let captures =
        captures.ok_or_else(|| format!("{expression:?} matches nothing in {}", shown(text)))?;
    let part = captures.get(1).or(captures.get(0));
    let part = part.map_or("", |part| part.as_str());
    parsed(part).ok_or_else(|| {
        format!(
            "{expression:?} matched {}, which is not a number",
            shown(part)
        )
    })
}

fn field(text: &str, pointer: &str) -> Result<f64, String> {
    let document: serde_json::Value = serde_json::from_str(text)
        .map_err(|error| format!("not a JSON document: {error}: {}", shown(text)))?;
    let value = document.pointer(pointer);
    let value = value.ok_or_else(|| format!("the document has no field {pointer:?}"))?;
    value.as_f64().ok_or_else(|| {
        format!(
            "field {pointer:?} is not a number: {}",
            shown(&value.to_string())
        )
    })
}

#[cfg(test)]
mod tests {
    use model::NumberPlace;
    use proptest::prelude::*;

    use super::number_in;

    const PGBENCH: &str = "latency average = 1.250 ms\ntps = 1,600.5 (without initial time)\n";

    #[track_caller]
    fn check(text: &str, place: NumberPlace, expected: Result<f64, &str>) {
        match (number_in(text, &place), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
            (found, expected) => panic!("{found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn numbers_are_found_where_they_are_said_to_be() {
        check(PGBENCH, NumberPlace::Last, Ok(1600.5));
        check(PGBENCH, NumberPlace::Line(1), Ok(1.25));
        let regex = |text: &str| NumberPlace::Regex(text.to_owned());
        check(PGBENCH, regex("^latency average = (.*)$"), Ok(1.25));
        check(PGBENCH, regex("tps = [0-9,.]+"), Ok(1600.5));
        let json = |text: &str| NumberPlace::Json(text.to_owned());
        check("{\"a\": [7, 8.5]}", json("/a/1"), Ok(8.5));
        check("took 3eggs", NumberPlace::Last, Ok(3.0));
        check("12.5GB/s", NumberPlace::Last, Ok(12.5));
        check("1e3", NumberPlace::Last, Ok(1000.0));
    }

    #[test]
    fn what_is_there_instead_is_said() {
        check("", NumberPlace::Last, Err("no number in nothing"));
        check(
            "all well",
            NumberPlace::Last,
            Err("no number in \"all well\""),
        );
        check(PGBENCH, NumberPlace::Line(9), Err("no line 9"));
        check("1 2", NumberPlace::Line(1), Err("more than one number"));
        let regex = |text: &str| NumberPlace::Regex(text.to_owned());
        check(PGBENCH, regex("qps = (.*)"), Err("matches nothing"));
        check(
            PGBENCH,
            regex("(latency)"),
            Err("matched \"latency\", which is not a number"),
        );
        let json = |text: &str| NumberPlace::Json(text.to_owned());
        check("{}", json("/a"), Err("has no field \"/a\""));
        check(
            "{\"a\": true}",
            json("/a"),
            Err("is not a number: \"true\""),
        );
        check("{", json("/a"), Err("not a JSON document"));
        check(
            "0",
            NumberPlace::Last,
            Err("but ratios need a number above 0"),
        );
        check("\u{1b}[31m", NumberPlace::Line(2), Err("\\u{1b}[31m"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-+.,eE0-9 a-zé\n{}\":]{0,60}", line in 1u32..5) {
            for place in [
                NumberPlace::Last,
                NumberPlace::Line(line),
                NumberPlace::Regex("([a-z]+)".to_owned()),
                NumberPlace::Json("/a".to_owned()),
                NumberPlace::Csv("a".to_owned()),
            ] {
                let _ = number_in(&text, &place);
            }
        }
    }
}
