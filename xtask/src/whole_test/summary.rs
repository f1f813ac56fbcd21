//! The summary at the end: the slowest tests, what failed and what was skipped, and one line of
//! counts.

use super::verdict::{Checked, Verdict};

/// How many of the slowest are shown.
const SHOWN: usize = 10;

/// Returns the summary. Its last line is `N passed, N failed, N skipped`.
pub(crate) fn summary(results: &[Checked]) -> String {
    let mut text = slowest(results);
    for one in results {
        match &one.verdict {
            Verdict::Passed => {}
            Verdict::Failed(said) => {
                text.push_str(&format!("FAILED   {}\n{}\n", one.name, indented(said)));
            }
            Verdict::Skipped(_, why) => text.push_str(&format!("SKIPPED  {}: {why}\n", one.name)),
        }
    }
    let count = |is: fn(&Verdict) -> bool| results.iter().filter(|one| is(&one.verdict)).count();
    text + &format!(
        "{} passed, {} failed, {} skipped\n",
        count(|verdict| *verdict == Verdict::Passed),
        count(|verdict| matches!(verdict, Verdict::Failed(_))),
        count(|verdict| matches!(verdict, Verdict::Skipped(..))),
    )
}

/// Returns the slowest, one per line, slowest first.
fn slowest(results: &[Checked]) -> String {
    let times = results
        .iter()
        .filter_map(|one| Some((one.took?, &one.name)));
    let mut times: Vec<_> = times.collect();
    times.sort_by(|one, other| other.cmp(one));
    let lines = times.iter().take(SHOWN);
    let lines = lines.map(|(took, name)| format!("{:>8.1} s  {name}\n", took.as_secs_f64()));
    format!("\nThe slowest:\n{}", lines.collect::<String>())
}

/// What a failure said, below its title.
pub(super) fn indented(said: &str) -> String {
    let lines = said.trim_end().lines().map(|line| format!("    {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use testing::Need;

    use super::*;

    #[test]
    fn the_last_line_counts_and_the_lines_above_name_what_did_not_pass() {
        let slow = Checked {
            took: Some(Duration::from_millis(12_500)),
            ..Checked::new("guest", Verdict::Skipped(Some(Need::Kernel), "old".into()))
        };
        let text = summary(&[
            Checked::new("fmt", Verdict::Passed),
            Checked::new("numalab a::b", Verdict::Failed("left\nright\n".into())),
            slow,
        ]);
        let expected = "\nThe slowest:\n    12.5 s  guest\nFAILED   numalab a::b\n    left\n    \
                        right\nSKIPPED  guest: old\n1 passed, 1 failed, 1 skipped\n";
        assert_eq!(text, expected);
    }
}
