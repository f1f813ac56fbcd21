//! What came of one test.

use std::time::Duration;

use testing::Need;

/// The result of one test or step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It passed.
    Passed,
    /// It failed: what it said.
    Failed(String),
    /// It did not run, and why.
    Skipped(Option<Need>, String),
}

/// One test or step with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checked {
    /// The name: `numalab bind::a_placement_is_verified`, `fmt`.
    pub name: String,
    /// The result.
    pub verdict: Verdict,
    /// How long it took, if that is known.
    pub took: Option<Duration>,
}

impl Checked {
    /// Creates a result without a time.
    pub(crate) fn new(name: impl Into<String>, verdict: Verdict) -> Self {
        Self {
            name: name.into(),
            verdict,
            took: None,
        }
    }

    /// The result in continuous integration, where whatever is skipped fails, unless no machine of
    /// ours can meet the need ([`Need::TABLE`]).
    pub(crate) fn in_ci(self) -> Self {
        let verdict = match self.verdict {
            Verdict::Skipped(need, why) if !need.is_some_and(Need::is_beyond_us) => {
                Verdict::Failed(format!("not run: {why}"))
            }
            verdict => verdict,
        };
        Self { verdict, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_ci_a_test_is_skipped_only_for_what_no_machine_of_ours_can_meet() {
        let check = |need: Option<Need>, is_failure: bool| {
            let verdict = Verdict::Skipped(need, "why".to_owned());
            let found = Checked::new("a_test", verdict).in_ci().verdict;
            let expected = match is_failure {
                true => Verdict::Failed("not run: why".to_owned()),
                false => Verdict::Skipped(need, "why".to_owned()),
            };
            assert_eq!(found, expected);
        };
        check(None, true);
        check(Some(Need::Package), true);
        check(Some(Need::Root), true);
        check(Some(Need::Guest), true);
        check(Some(Need::Kernel), false);
        assert_eq!(
            Checked::new("it", Verdict::Passed).in_ci().verdict,
            Verdict::Passed
        );
    }
}
