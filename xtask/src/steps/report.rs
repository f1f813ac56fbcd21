//! The summary at the end: the slowest tests, skipped and failed checks by name with what failed
//! tests said, and one line of counts.

use super::step::{Checked, Verdict};

/// Returns the summary. Its last line is `N passed, N failed, N skipped`.
pub(super) fn summary(results: &[Checked]) -> String {
    let mut text = String::new();
    for result in results {
        match &result.verdict {
            Verdict::Passed => {}
            Verdict::Failed(reason) => {
                text.push_str(&format!("FAILED   {}: {}\n", result.name, indented(reason)));
            }
            Verdict::Skipped(reason) => {
                text.push_str(&format!("SKIPPED  {}: {}\n", result.name, indented(reason)));
            }
        }
    }
    let count = |is: fn(&Verdict) -> bool| results.iter().filter(|one| is(&one.verdict)).count();
    text + &format!(
        "{} passed, {} failed, {} skipped\n",
        count(|verdict| *verdict == Verdict::Passed),
        count(|verdict| matches!(verdict, Verdict::Failed(_))),
        count(|verdict| matches!(verdict, Verdict::Skipped(_))),
    )
}

fn indented(reason: &str) -> String {
    reason.trim_end().replace('\n', "\n           ")
}

/// How many are shown.
const SHOWN: usize = 10;

/// Tests with their seconds.
#[derive(Debug, Default)]
pub(super) struct Times {
    tests: Vec<(f64, String)>,
}

impl Times {
    /// Adds a line of the harness, if it states a test's time:
    ///
    /// ```text
    /// test bad_input::an_unknown_experiment_names_the_nearest ... ok <0.280s>
    /// ```
    pub(super) fn add(&mut self, line: &str) {
        let parts = line.strip_prefix("test ").and_then(|rest| {
            let (name, end) = rest.split_once(" ... ")?;
            let (_, time) = end.rsplit_once('<')?;
            let seconds = time.strip_suffix("s>")?.parse().ok()?;
            Some((seconds, name.to_string()))
        });
        self.tests.extend(parts);
    }

    /// Returns the slowest tests, one per line, slowest first.
    pub(super) fn table(&self) -> String {
        let mut tests: Vec<_> = self.tests.iter().collect();
        tests.sort_by(|one, other| other.0.total_cmp(&one.0));
        let total: f64 = self.tests.iter().map(|(seconds, _)| seconds).sum();
        let lines = tests.iter().take(SHOWN);
        let lines: String = lines
            .map(|(seconds, name)| format!("{seconds:>8.1} s  {name}\n"))
            .collect();
        let count = self.tests.len();
        format!("\nThe slowest of {count} tests, which took {total:.0} s one by one:\n{lines}")
    }
}

/// What tests that failed said, as the harness repeats it after all tests of a binary.
#[derive(Debug, Default)]
pub(super) struct Failures {
    tests: Vec<(String, Vec<String>)>,
    is_inside: bool,
}

/// Lines that are shown from the start of what a test said, and from its end: the message of a
/// panic may have a whole document in its middle.
const LINES_AT_ENDS: usize = 12;

impl Failures {
    /// Adds a line of the harness, if it belongs to what a test said (library/test/src/formatters,
    /// `write_failures`):
    ///
    /// ```text
    /// failures:
    ///
    /// ---- bad_input::an_unknown_experiment_names_the_nearest stdout ----
    ///
    /// thread 'bad_input::an_unknown_experiment_names_the_nearest' panicked at …
    ///
    ///
    /// failures:
    ///     bad_input::an_unknown_experiment_names_the_nearest
    /// ```
    pub(super) fn add(&mut self, line: &str) {
        let title = line.strip_prefix("---- ");
        let title = title.and_then(|rest| rest.strip_suffix(" stdout ----"));
        match (title, self.tests.last_mut()) {
            (Some(test), _) => {
                self.tests.push((test.to_owned(), Vec::new()));
                self.is_inside = true;
            }
            (None, Some((_, said))) if self.is_inside && line != "failures:" => {
                said.push(line.to_owned());
            }
            _ => self.is_inside = false,
        }
    }

    /// Returns the tests that failed, each with what it said.
    pub(super) fn of_tests(&self) -> impl Iterator<Item = (&str, String)> {
        let tests = self.tests.iter();
        tests.map(|(test, said)| (test.as_str(), shortened(said)))
    }
}

/// Returns the first and last of these lines, without those that are empty or of a backtrace.
fn shortened(lines: &[String]) -> String {
    let lines = lines.iter().map(String::as_str);
    let lines: Vec<_> = lines
        .filter(|line| !line.trim().is_empty() && !is_of_backtrace(line))
        .collect();
    match lines.len().checked_sub(2 * LINES_AT_ENDS) {
        None | Some(0) => lines.join("\n"),
        Some(left_out) => {
            let (start, rest) = lines.split_at(LINES_AT_ENDS);
            let middle = format!("[{left_out} lines left out]");
            [&start.join("\n"), &middle, &rest[left_out..].join("\n")]
                .map(String::as_str)
                .join("\n")
        }
    }
}

/// Whether a line is of a backtrace (library/std/src/sys/backtrace.rs): its title, a frame, the
/// place of one, or the note at its end.
fn is_of_backtrace(line: &str) -> bool {
    let is_frame = || {
        let number = line.trim_start().split_once(": ").map(|(number, _)| number);
        number.is_some_and(|it| line.starts_with("  ") && it.parse::<u32>().is_ok())
    };
    line == "stack backtrace:"
        || line.starts_with("             at ")
        || line.starts_with("note: Some details are omitted")
        || line.starts_with("note: run with `RUST_BACKTRACE")
        || is_frame()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_failed_test_said_is_kept_with_both_ends() {
        let mut failures = Failures::default();
        let document: String = (0..30).map(|it| format!("line {it}\n")).collect();
        let text = format!(
            "\
test a::b ... FAILED <1.000s>

failures:

---- a::b stdout ----

thread 'a::b' panicked at a.rs:1:2:
  left: 708
 right: 707
stack backtrace:
   0: a::b
             at a.rs:1:2
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

---- c stdout ----
{document}

failures:
    a::b
    c

test result: FAILED.

---- no title
"
        );
        text.lines().for_each(|line| failures.add(line));
        let found: Vec<_> = failures.of_tests().collect();
        let [(first, said), (second, long)] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!((*first, *second), ("a::b", "c"));
        let expected = "thread 'a::b' panicked at a.rs:1:2:\n  left: 708\n right: 707";
        assert_eq!(said, expected);
        assert!(long.starts_with("line 0\n"), "{long}");
        assert!(long.ends_with("line 29"), "{long}");
        assert!(
            long.contains("line 11\n[6 lines left out]\nline 18\n"),
            "{long}"
        );
    }

    #[test]
    fn the_last_line_counts_and_the_lines_above_name_what_did_not_pass() {
        let checked = |name: &str, verdict| Checked::new(name.to_string(), verdict);
        let text = summary(&[
            checked("fmt", Verdict::Passed),
            checked("unit", Verdict::Failed("a\nb".into())),
            checked("guest", Verdict::Skipped("--no-guest".into())),
        ]);
        let expected = "FAILED   unit: a\n           b\nSKIPPED  guest: --no-guest\n\
            1 passed, 1 failed, 1 skipped\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_slowest_come_first_and_other_lines_are_no_tests() {
        let mut times = Times::default();
        for line in [
            "running 3 tests",
            "test quick ... ok <0.280s>",
            "test slow::er ... FAILED <12.500s>",
            "test doc ... ignored",
            "test broken ... ok <s>",
        ] {
            times.add(line);
        }
        let expected = "\nThe slowest of 2 tests, which took 13 s one by one:\n    \
                        12.5 s  slow::er\n     0.3 s  quick\n";
        assert_eq!(times.table(), expected);
    }
}
