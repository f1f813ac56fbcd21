//! An external program that prints a number, as an experiment file defines it.

use model::NumberPlace;

use super::place::CpuChoice;
use super::vocabulary::Word;

/// Maximum length of a unit, in characters.
pub(crate) const UNIT_CHARS_MAX: usize = 24;

/// The program of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandChoice {
    /// The command line for the shell; empty where no program runs.
    pub command: String,
    /// Where in its output the number is.
    pub number: NumberPlace,
    /// The unit of the number.
    pub unit: String,
    /// Whether a higher number is better.
    pub more_is_better: bool,
    /// The expression for the line that begins the window of a rate; empty: no rate.
    pub begin: String,
    /// The expression for the line that ends it; empty: no rate.
    pub end: String,
    /// The command line that starts a server; empty: none is started.
    pub server: String,
    /// The command line that succeeds when the server answers; empty without a server.
    pub ready: String,
    /// CPUs of the program, when there is a server.
    pub client_cpus: CpuChoice,
}

/// The words for which direction is better.
pub(crate) const DIRECTIONS: &[Word<bool>] = &[
    Word {
        value: true,
        name: "more",
        about: "higher numbers are better",
    },
    Word {
        value: false,
        name: "less",
        about: "lower numbers are better",
    },
];

/// The values that a key for the number's place accepts, for messages.
pub(crate) const NUMBER_EXPECTED: &str = "last, line:N, regex:EXPRESSION, json:POINTER, \
                                          json-lines:POINTER or csv:COLUMN, as in regex:^tps = \
                                          ([0-9.]+) or json:/results/0";

/// What `begin` and `end` accept, for messages.
pub(crate) const LINE_EXPECTED: &str = "a regular expression for a line";

/// Parses the expression for a line; empty: none.
pub(crate) fn parse_line_expression(text: &str) -> Option<String> {
    let can_be = regex_lite::Regex::new(text).is_ok() && !text.contains(char::is_control);
    can_be.then(|| text.to_owned())
}

/// The number places, for documents.
pub(crate) const NUMBER_PLACES: &[(&str, &str)] = &[
    ("last", "the last number printed"),
    ("line:N", "the only number on line N, counted from 1"),
    (
        "regex:EXPRESSION",
        "the last match of the expression's first group, or of the whole expression if it has \
         none; `^` and `$` match at line ends",
    ),
    (
        "json:POINTER",
        "a field of the printed JSON document (RFC 6901)",
    ),
    (
        "json-lines:POINTER",
        "the mean of this field of all lines that are JSON objects and have it",
    ),
    (
        "csv:COLUMN",
        "the mean of a column of a printed table with a heading, whose fields are separated by \
         commas (RFC 4180); the table ends before the first line with another number of fields",
    ),
];

/// Parses a number place.
pub(crate) fn parse_number_place(text: &str) -> Option<NumberPlace> {
    if text == "last" {
        return Some(NumberPlace::Last);
    }
    match text.split_once(':')? {
        ("line", number) => {
            let line: u32 = number.parse().ok()?;
            (line > 0).then_some(NumberPlace::Line(line))
        }
        ("regex", expression) => {
            let can_be = !expression.is_empty() && regex_lite::Regex::new(expression).is_ok();
            can_be.then(|| NumberPlace::Regex(expression.to_owned()))
        }
        ("json", pointer) => is_pointer(pointer).then(|| NumberPlace::Json(pointer.to_owned())),
        ("json-lines", pointer) => {
            is_pointer(pointer).then(|| NumberPlace::JsonLines(pointer.to_owned()))
        }
        ("csv", column) => {
            (!column.trim().is_empty()).then(|| NumberPlace::Csv(column.trim().to_owned()))
        }
        _ => None,
    }
}

fn is_pointer(text: &str) -> bool {
    text.is_empty() || text.starts_with('/')
}

#[cfg(test)]
mod tests {
    use model::NumberPlace;
    use proptest::prelude::*;

    use super::parse_number_place;

    #[test]
    fn places_are_read_and_others_refused() {
        let check = |text, expected| assert_eq!(parse_number_place(text), expected, "{text}");
        check("last", Some(NumberPlace::Last));
        check("line:3", Some(NumberPlace::Line(3)));
        check("line:0", None);
        check("regex:a(.*)", Some(NumberPlace::Regex("a(.*)".to_owned())));
        check("regex:a(", None);
        check("regex:", None);
        check("json:/a/0", Some(NumberPlace::Json("/a/0".to_owned())));
        check("json:a", None);
        check("first", None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(last|line:|regex:|json:)?\\PC{0,40}") {
            let _ = parse_number_place(&text);
        }
    }
}
