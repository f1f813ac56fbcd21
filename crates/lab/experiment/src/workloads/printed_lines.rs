//! What a program printed, and the seconds between two of its lines.

use std::time::{Duration, Instant};

use model::Between;
use regex_lite::Regex;

/// The shortest window of a rate: when a line arrives is known to a few milliseconds, and a
/// program that does not flush its output prints both lines at once.
const WINDOW_MIN: Duration = Duration::from_millis(100);

/// What a program printed.
#[derive(Debug, Default)]
pub(super) struct Printed {
    /// The text.
    pub text: String,
    /// Whether it printed more than is kept.
    pub is_cut: bool,
    /// The time between the two lines.
    pub window: Window,
}

/// The time between two lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Window {
    /// None was asked for.
    #[default]
    None,
    /// No line begins it.
    NoBegin,
    /// No later line ends it.
    NoEnd,
    /// It is this long.
    Took(Duration),
}

impl Window {
    /// The seconds; `None` without a rate.
    ///
    /// # Errors
    /// What is missing, as a lower-case fragment.
    pub(super) fn seconds(self) -> Result<Option<f64>, String> {
        match self {
            Window::None => Ok(None),
            Window::NoBegin => Err("no line of its output matches `begin`".to_owned()),
            Window::NoEnd => Err("no line after the one of `begin` matches `end`".to_owned()),
            Window::Took(time) if time < WINDOW_MIN => Err(format!(
                "the lines of `begin` and `end` came {} ms apart, where {} are the least: does the \
                 program flush its output? (`stdbuf -oL PROGRAM` makes many do)",
                time.as_millis(),
                WINDOW_MIN.as_millis()
            )),
            Window::Took(time) => Ok(Some(time.as_secs_f64())),
        }
    }
}

/// Looks for the two lines.
#[derive(Debug)]
pub(super) struct Marks {
    expressions: Option<(Regex, Regex)>,
    began: Option<Instant>,
    took: Option<Duration>,
}

impl Marks {
    /// Looks for these; for none without a rate.
    ///
    /// # Errors
    /// When an expression is none, as a lower-case fragment.
    pub(super) fn of(between: Option<&Between>) -> Result<Self, String> {
        let compiled = |text: &str| Regex::new(text).map_err(|error| format!("{text:?}: {error}"));
        let expressions = match between {
            Some(it) => Some((compiled(&it.begin)?, compiled(&it.end)?)),
            None => None,
        };
        Ok(Marks {
            expressions,
            began: None,
            took: None,
        })
    }

    /// Looks at a line that came at this time.
    pub(super) fn look(&mut self, line: &str, now: Instant) {
        let Some((begin, end)) = &self.expressions else {
            return;
        };
        let line = line.trim_end_matches(['\n', '\r']);
        match (self.began, self.took) {
            (None, _) if begin.is_match(line) => self.began = Some(now),
            (Some(began), None) if end.is_match(line) => {
                self.took = Some(now.saturating_duration_since(began));
            }
            _ => {}
        }
    }

    /// What was found.
    pub(super) fn window(&self) -> Window {
        match (&self.expressions, self.began, self.took) {
            (None, _, _) => Window::None,
            (_, _, Some(time)) => Window::Took(time),
            (_, Some(_), None) => Window::NoEnd,
            (_, None, _) => Window::NoBegin,
        }
    }
}

/// Returns the end of a text, for a message.
pub(super) fn shown(text: &str) -> String {
    const CHARS: usize = 200;
    let text = text.trim();
    let count = text.chars().count();
    let end: String = text.chars().skip(count.saturating_sub(CHARS)).collect();
    match (end.is_empty(), count > CHARS) {
        (true, _) => "nothing".to_owned(),
        (_, true) => format!("\"…{}\"", end.escape_debug()),
        (_, false) => format!("\"{}\"", end.escape_debug()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window of these lines, a second apart.
    fn window(lines: &[&str]) -> Window {
        let between = Between {
            begin: "^run".to_owned(),
            end: "^run|done$".to_owned(),
        };
        let mut marks = Marks::of(Some(&between)).unwrap();
        let start = Instant::now();
        for (second, line) in (0..).zip(lines) {
            marks.look(line, start + Duration::from_secs(second));
        }
        marks.window()
    }

    #[test]
    fn a_window_is_from_the_first_line_that_begins_to_the_next_that_ends() {
        let took = |seconds| Window::Took(Duration::from_secs(seconds));
        assert_eq!(
            window(&["load", "run\n", "x", "all done\n", "done"]),
            took(2)
        );
        assert_eq!(window(&["run", "run"]), took(1));
        assert_eq!(window(&["done", "run"]), Window::NoEnd);
        assert_eq!(window(&["done"]), Window::NoBegin);
        assert_eq!(Marks::of(None).unwrap().window(), Window::None);
    }

    #[test]
    fn a_window_that_is_too_short_is_refused_with_a_likely_cause() {
        assert_eq!(Window::None.seconds(), Ok(None));
        let long = Window::Took(Duration::from_millis(1500));
        assert_eq!(long.seconds(), Ok(Some(1.5)));
        let refused = Window::Took(Duration::from_millis(3))
            .seconds()
            .unwrap_err();
        assert!(refused.contains("3 ms apart"), "{refused}");
        assert!(refused.contains("stdbuf -oL"), "{refused}");
        assert!(Window::NoEnd.seconds().is_err() && Window::NoBegin.seconds().is_err());
    }
}
