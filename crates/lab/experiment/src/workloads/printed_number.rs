//! Extracts the number from a program's output. Pure.

use std::ops::Range;

use model::{FIGURES, NumberPlace, PrintedNumber};

use super::printed_figure::figure_in;
use super::printed_lines::shown;
use super::printed_table;

/// The characters of a line that are kept, as for messages.
const LINE_CHARS_MAX: usize = 200;

/// Returns the number at `place`, in `unit`. The error describes what is there instead, as a
/// lower-case fragment.
pub(super) fn number_in(
    text: &str,
    place: &NumberPlace,
    unit: &str,
) -> Result<PrintedNumber, String> {
    // A figure of a document: no line has it alone.
    let without_line = |number| PrintedNumber {
        number,
        unit: unit.to_owned(),
        line: None,
    };
    let found = match place {
        NumberPlace::Last => last(text, unit),
        NumberPlace::Line(line) => on_line(text, *line, unit),
        NumberPlace::Regex(expression) => matched(text, expression, unit),
        NumberPlace::Json(pointer) => field(text, pointer).map(without_line),
        NumberPlace::JsonLines(pointer) => {
            printed_table::of_json_lines(text, pointer).map(without_line)
        }
        NumberPlace::Csv(column) => printed_table::of_csv(text, column).map(without_line),
    }?;
    let number = found.number;
    match FIGURES.contains(&number) {
        true => Ok(found),
        false => Err(format!(
            "the number is {number:?}, but ratios need a number above 0, from {:e} to {:e}",
            FIGURES.start(),
            FIGURES.end()
        )),
    }
}

/// Reads the figure in a part of a text; `None` if there is none.
fn read(text: &str, part: Range<usize>, unit: &str) -> Option<Result<PrintedNumber, String>> {
    let line = line_around(text, &part);
    let read = figure_in(text.get(part)?, unit)?;
    Some(match read {
        Ok(number) => Ok(PrintedNumber {
            number,
            unit: unit.to_owned(),
            line: Some(line.chars().take(LINE_CHARS_MAX).collect()),
        }),
        Err(why) => Err(format!("{} has {why}", shown(line))),
    })
}

/// The line in which a part of a text begins.
fn line_around<'t>(text: &'t str, part: &Range<usize>) -> &'t str {
    let start = text[..part.start].rfind('\n').map_or(0, |at| at + 1);
    text[start..].lines().next().unwrap_or_default().trim()
}

/// The words of a line, each from its start to the end of the line: a unit may follow.
fn words(text: &str, line: Range<usize>) -> impl DoubleEndedIterator<Item = Range<usize>> {
    let of_line = &text[line.clone()];
    // A space that does not break sets groups of digits apart.
    let is_space = |it: char| it.is_whitespace() && !matches!(it, '\u{a0}' | '\u{202f}');
    let starts = of_line.split(is_space).filter(|word| !word.is_empty());
    let offset = move |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    starts.map(move |word| offset(word)..line.end)
}

/// The lines of a text.
fn lines(text: &str) -> impl DoubleEndedIterator<Item = Range<usize>> {
    text.lines().map(|line| {
        let start = line.as_ptr() as usize - text.as_ptr() as usize;
        start..start + line.len()
    })
}

/// Whether the word at the start of a part has a number.
fn has_number(text: &str, part: &Range<usize>) -> bool {
    let word = text[part.clone()].split_whitespace().next();
    word.is_some_and(|word| word.contains(|it: char| it.is_ascii_digit()))
}

fn last(text: &str, unit: &str) -> Result<PrintedNumber, String> {
    let mut all = lines(text).rev().flat_map(|line| words(text, line).rev());
    let found = all.find(|word| has_number(text, word));
    let read = found.and_then(|word| read(text, word, unit));
    read.unwrap_or_else(|| Err(format!("no number in {}", shown(text))))
}

fn on_line(text: &str, number: u32, unit: &str) -> Result<PrintedNumber, String> {
    let line = lines(text).nth(number as usize - 1);
    let line = line.ok_or_else(|| format!("no line {number} in {}", shown(text)))?;
    let mut found = words(text, line.clone()).filter(|word| has_number(text, word));
    match (found.next(), found.next()) {
        (Some(word), None) => read(text, word, unit),
        (None, _) => None,
        (Some(_), Some(_)) => Some(Err(format!(
            "line {number} has more than one number (select one with regex:): {}",
            shown(&text[line.clone()])
        ))),
    }
    .unwrap_or_else(|| {
        let line = shown(&text[line.clone()]);
        Err(format!("line {number} has no number: {line}"))
    })
}

fn matched(text: &str, expression: &str, unit: &str) -> Result<PrintedNumber, String> {
    let by_line = format!("(?m){expression}");
    let compiled = regex_lite::Regex::new(&by_line).map_err(|error| error.to_string())?;
    let captures = compiled.captures_iter(text).last();
    let captures =
        captures.ok_or_else(|| format!("{expression:?} matches nothing in {}", shown(text)))?;
    let part = captures.get(1).or(captures.get(0));
    let part = part.map_or(0..0, |part| part.range());
    read(text, part.clone(), unit).unwrap_or_else(|| {
        Err(format!(
            "{expression:?} matched {}, which is not a number",
            shown(&text[part])
        ))
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
        match (number_in(text, &place, "reported"), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found.number, expected),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
            (found, expected) => panic!("{found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn numbers_are_found_where_they_are_said_to_be() {
        check(PGBENCH, NumberPlace::Last, Ok(1600.5));
        let regex = |text: &str| NumberPlace::Regex(text.to_owned());
        check(PGBENCH, regex("^latency average = ([0-9.]+)"), Ok(1.25));
        check(PGBENCH, regex("tps = [0-9,.]+"), Ok(1600.5));
        let json = |text: &str| NumberPlace::Json(text.to_owned());
        check("{\"a\": [7, 8.5]}", json("/a/1"), Ok(8.5));
        check("took 3eggs", NumberPlace::Last, Ok(3.0));
        check("1e3", NumberPlace::Last, Ok(1000.0));
    }

    #[test]
    fn a_number_is_in_the_unit_of_the_experiment_and_has_its_line() {
        let check = |text: &str, place: NumberPlace, unit: &str, expected: f64| {
            let found = number_in(text, &place, unit).unwrap();
            assert_eq!(found.number, expected, "{text}");
            assert!(found.line.is_some_and(|line| text.contains(&line)));
        };
        check(PGBENCH, NumberPlace::Line(1), "ms", 1.25);
        check(PGBENCH, NumberPlace::Line(1), "us", 1250.0);
        let regex = |text: &str| NumberPlace::Regex(text.to_owned());
        let fio = regex("avg ([0-9.]+[a-z]+)");
        check("avg 1.02ms", fio.clone(), "us", 1020.0);
        check("avg 635.91us", fio, "us", 635.91);
        let latency = regex("^latency average = (.*)$");
        check(PGBENCH, latency, "ms", 1.25);
        // dd chooses the unit.
        let dd = "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.9 s, 1.1 GB/s\n";
        check(dd, NumberPlace::Last, "MB/s", 1100.0);
        check("tps = 1\u{a0}234,5\nend", NumberPlace::Last, "tps", 1234.5);
        let line = number_in(PGBENCH, &NumberPlace::Last, "tps").unwrap().line;
        assert_eq!(
            line.as_deref(),
            Some("tps = 1,600.5 (without initial time)")
        );
        let json = NumberPlace::Json("/a".to_owned());
        assert_eq!(number_in("{\"a\": 7}", &json, "tps").unwrap().line, None);
    }

    #[test]
    fn what_may_be_another_number_is_refused_with_its_line() {
        let check = |text: &str, unit: &str, expected: &[&str]| {
            let refused = number_in(text, &NumberPlace::Last, unit).unwrap_err();
            for part in expected.iter().chain([&text]) {
                assert!(refused.contains(part), "{refused}");
            }
        };
        check("tps 1000 in 60 s", "tps", &["its unit is \"s\""]);
        check("avg 1.02 ms", "reported", &["set `unit`"]);
        check("tps 1,234", "tps", &["may be several numbers", "LC_ALL=C"]);
        check("took 01:30", "s", &["a time of day"]);
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
        check(
            "1e-308",
            NumberPlace::Last,
            Err("1e-308, but ratios need a number above 0, from 1e-150 to 1e150"),
        );
        check("\u{1b}[31m", NumberPlace::Line(2), Err("\\u{1b}[31m"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-+.,eE0-9 a-zé\u{a0}\n{}\":]{0,60}", line in 1u32..5) {
            for place in [
                NumberPlace::Last,
                NumberPlace::Line(line),
                NumberPlace::Regex("([a-z]+)".to_owned()),
                NumberPlace::Json("/a".to_owned()),
                NumberPlace::Csv("a".to_owned()),
            ] {
                let _ = number_in(&text, &place, "us");
            }
        }
    }
}
