//! The slowest tests of a run, read from the output of the test harness.

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
    use super::Times;

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
