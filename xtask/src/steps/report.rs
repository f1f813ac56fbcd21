//! The summary at the end: skipped and failed checks by name, and one line of counts.

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
}
