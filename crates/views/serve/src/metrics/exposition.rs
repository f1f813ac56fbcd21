//! Writes samples in the text format of Prometheus, version 0.0.4: every metric once, with HELP
//! and TYPE before its samples. Label values may hold anything.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::metric::Metric;
use super::table::metrics;

/// Maximum length of a label's value, in characters: names are others' and may be long.
const VALUE_MAX: usize = 128;

/// Samples, by metric.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    samples: Vec<(&'static str, String)>,
    series: BTreeSet<String>,
}

impl Exposition {
    /// Adds a sample with the values of the metric's labels; nothing if it is unknown or not a
    /// number. Of two samples with the same labels the first counts: a second would make the whole
    /// document invalid.
    pub(super) fn add(&mut self, metric: &Metric, labels: &[&str], value: Option<f64>) {
        debug_assert_eq!(metric.labels.len(), labels.len(), "{}", metric.name);
        let Some(value) = value.filter(|value| value.is_finite()) else {
            return;
        };
        let mut series = metric.name.to_owned();
        if !labels.is_empty() {
            let pairs = metric.labels.iter().zip(labels);
            let pairs = pairs.map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
            let _ = write!(series, "{{{}}}", pairs.collect::<Vec<_>>().join(","));
        }
        if self.series.insert(series.clone()) {
            self.samples
                .push((metric.name, format!("{series} {value}\n")));
        }
    }

    /// Returns the document.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for metric in metrics() {
            let mut lines = self.samples.iter().filter(|(name, _)| *name == metric.name);
            let Some((_, first)) = lines.next() else {
                continue;
            };
            let (name, kind) = (metric.name, metric.kind.name());
            let _ = write!(
                text,
                "# HELP {name} {}\n# TYPE {name} {kind}\n",
                metric.help
            );
            text += first;
            lines.for_each(|(_, line)| text += line);
        }
        text
    }
}

/// Escapes the value of a label: backslash, quote and line end as the format wants it; other
/// control characters become U+FFFD, since terminals show metrics, too.
fn escaped(value: &str) -> String {
    let mut text = String::new();
    for character in value.chars().take(VALUE_MAX) {
        match character {
            '\\' => text += "\\\\",
            '"' => text += "\\\"",
            '\n' => text += "\\n",
            _ if is_disturbing(character) => text.push(char::REPLACEMENT_CHARACTER),
            _ => text.push(character),
        }
    }
    text
}

/// Whether a character moves the cursor or reverses the direction of the text around it.
fn is_disturbing(character: char) -> bool {
    let is_mark = matches!(character, '\u{200e}' | '\u{200f}');
    let is_embedding = matches!(character, '\u{202a}'..='\u{202e}');
    let is_isolate = matches!(character, '\u{2066}'..='\u{2069}');
    character.is_control() || is_mark || is_embedding || is_isolate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_values_are_escaped() {
        let check = |value: &str, expected: &str| assert_eq!(escaped(value), expected);
        check("plain", "plain");
        check("a\"b\\c\nd", "a\\\"b\\\\c\\nd");
        check("\u{1b}[2J", "\u{fffd}[2J");
        check("\u{202e}x", "\u{fffd}x");
        check(&"é".repeat(1000), &"é".repeat(VALUE_MAX));
    }
}
