//! The chase of a part: a C program that shares no code with the kernels (`part_chase.c`), and
//! measures whether a working set is large enough.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::c_program;
use super::supervisor::Supervisor;

const PROGRAM: &str = concat!(include_str!("chase.h"), include_str!("part_chase.c"));

/// The built program.
pub(super) struct PartChase(PathBuf);

/// What it measures.
pub(super) struct PartOf {
    /// The CPU that measures.
    pub cpu: u64,
    /// Bytes of the working set in question.
    pub part: u64,
    /// Bytes of one that is large enough.
    pub whole: u64,
    /// Bytes that are visited at random before others.
    pub group: u64,
}

impl PartChase {
    /// Builds it with the C compiler of this machine.
    pub(super) fn build(folder: &Path) -> Result<Self> {
        c_program::build(folder, "part_chase", PROGRAM, "-O2").map(PartChase)
    }

    /// Measures both in fresh memory, in turns; returns the ratio of each turn.
    pub(super) fn ratios(
        &self,
        supervisor: &Supervisor,
        asked: &PartOf,
        turns: u64,
        seed: u64,
    ) -> Result<Vec<f64>> {
        let PartOf {
            cpu,
            part,
            whole,
            group,
        } = *asked;
        let words = [cpu, part, whole, group, turns, seed].map(|word| word.to_string());
        let output = supervisor.output(Command::new(&self.0).args(&words))?;
        let text = String::from_utf8_lossy(&output.stdout);
        ensure!(
            output.status.success(),
            "the chase of a part ended with {}",
            output.status
        );
        text.lines()
            .map(|line| ratio(line).with_context(|| format!("the chase of a part said {line:?}")))
            .collect()
    }
}

/// ```text
/// 181.906 185.713
/// ```
fn ratio(line: &str) -> Option<f64> {
    let (part, whole) = line.split_once(' ')?;
    let (part, whole): (f64, f64) = (part.parse().ok()?, whole.parse().ok()?);
    (part > 0.0 && whole > 0.0).then(|| part / whole)
}

#[cfg(test)]
mod tests {
    use super::ratio;

    #[test]
    fn its_line_is_read() {
        assert_eq!(ratio("150.000 200.000"), Some(0.75));
        assert_eq!(ratio("0.000 200.000"), None);
        assert_eq!(ratio("150.000"), None);
    }
}
