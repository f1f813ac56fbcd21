//! The summary at the end: the slowest tests, skipped and failed checks by name, and one line of
//! counts.

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

#[cfg(test)]
mod tests {
    use super::*;

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
