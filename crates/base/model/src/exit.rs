//! The exit codes: the one table behind the binary, its help and its documentation.

/// An exit code of the binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// Success.
    Success,
    /// A defect of numalab.
    Bug,
    /// The command line or an experiment file is wrong.
    Usage,
    /// This machine lacks a requirement: it has one node, or misses a kernel feature.
    MachineCannot,
    /// A permission is missing.
    NotPermitted,
    /// The machine is not fit to measure.
    NotFit,
    /// A placement was not honoured.
    PlacementNotHonoured,
    /// A comparison is worse than `--fail-below`, or a finding is as bad as `--fail-on`.
    ComparisonBelow,
    /// The workload failed.
    WorkloadFailed,
    /// The store cannot be read, or is newer than this program.
    Store,
    /// Interrupted by the user.
    Interrupted,
}

impl ExitCode {
    /// Every code, its number and its meaning.
    pub const TABLE: [(ExitCode, u8, &'static str); 11] = [
        (ExitCode::Success, 0, "success"),
        (ExitCode::Bug, 1, "bug in numalab"),
        (
            ExitCode::Usage,
            2,
            "invalid command line or experiment file",
        ),
        (
            ExitCode::MachineCannot,
            3,
            "not possible on this machine, such as one node or a missing kernel feature",
        ),
        (ExitCode::NotPermitted, 4, "not permitted"),
        (ExitCode::NotFit, 5, "machine not fit to measure"),
        (ExitCode::PlacementNotHonoured, 6, "placement not honoured"),
        (
            ExitCode::ComparisonBelow,
            7,
            "comparison below --fail-below, finding of --fail-on or worse, or incomplete plan of a \
             fleet",
        ),
        (
            ExitCode::WorkloadFailed,
            8,
            "workload failed, or target has ended",
        ),
        (
            ExitCode::Store,
            9,
            "store unreadable, or newer than this program",
        ),
        (ExitCode::Interrupted, 130, "interrupted"),
    ];

    /// The number a shell sees.
    pub fn number(self) -> u8 {
        let row = Self::TABLE.iter().find(|(code, _, _)| *code == self);
        row.expect("the table has a row for every variant").1
    }
}

#[cfg(test)]
mod tests {
    use super::ExitCode;

    #[test]
    fn every_code_has_one_row_and_its_own_number() {
        for (code, number, _) in ExitCode::TABLE {
            assert_eq!(code.number(), number);
        }
        let numbers: std::collections::BTreeSet<u8> = ExitCode::TABLE
            .iter()
            .map(|(_, number, _)| *number)
            .collect();
        assert_eq!(numbers.len(), ExitCode::TABLE.len());
    }
}
