//! The possible verdicts of a comparison, in one table.

/// The verdict of a comparison with the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval of the ratio is on the better side of 1.
    Faster,
    /// The whole interval of the ratio is on the worse side of 1.
    Slower,
    /// The interval of the ratio includes 1.
    Tie,
    /// There is no interval: too few valid trials.
    Undecided,
    /// The machine is emulated, so there is no winner, whatever the measurements.
    Emulated,
}

impl Verdict {
    /// All verdicts, their words in documents, and their meanings.
    pub const TABLE: [(Verdict, &'static str, &'static str); 5] = [
        (
            Verdict::Faster,
            "faster",
            "the case is better than the baseline: the interval of the ratio lies above 1, or \
             below 1 where less is better",
        ),
        (
            Verdict::Slower,
            "slower",
            "the case is worse than the baseline: the interval of the ratio lies below 1, or \
             above 1 where less is better",
        ),
        (
            Verdict::Tie,
            "tie",
            "no difference was seen: the interval of the ratio includes 1",
        ),
        (
            Verdict::Undecided,
            "undecided",
            "too few valid trials for an interval",
        ),
        (
            Verdict::Emulated,
            "emulated",
            "the machine is emulated in software, so its speeds mean nothing",
        ),
    ];

    /// Returns the word used in documents and tables.
    pub fn word(self) -> &'static str {
        self.row().1
    }

    /// Returns the meaning of the word.
    pub fn meaning(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> (Verdict, &'static str, &'static str) {
        let row = Self::TABLE
            .into_iter()
            .find(|(verdict, ..)| *verdict == self);
        row.expect("the table has a row for every variant")
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict;

    #[test]
    fn every_verdict_has_one_row_and_its_own_word() {
        for (verdict, word, meaning) in Verdict::TABLE {
            assert_eq!((verdict.word(), verdict.meaning()), (word, meaning));
        }
        let words: std::collections::BTreeSet<_> =
            Verdict::TABLE.iter().map(|(_, word, _)| word).collect();
        assert_eq!(words.len(), Verdict::TABLE.len());
    }
}
