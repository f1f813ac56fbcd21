//! The answer of the doctor as text: its findings with all that is known of them, and how many
//! checks it made.

use model::{Coverage, Finding, Threads};

use crate::findings_text::{Detail, findings_text};
use crate::residency_threads::residency_threads;
use crate::run_style::TextOptions;
use crate::topology_distances::counted;

/// Formats the findings of these checks, after the threads of the target by role.
pub fn doctor_text(
    coverage: &Coverage,
    findings: &[Finding],
    threads: Option<&Threads>,
    options: &TextOptions,
) -> String {
    let threads = residency_threads(threads, options);
    let gap = if threads.is_empty() { "" } else { "\n" };
    format!("{threads}{gap}{}", of_checks(coverage, findings, options))
}

fn of_checks(coverage: &Coverage, findings: &[Finding], options: &TextOptions) -> String {
    let checks = counted(coverage.looked_for, "check");
    let not_seen = not_seen(coverage);
    if findings.is_empty() {
        return format!("no problems found in {checks}\n{not_seen}");
    }
    format!(
        "{}\n{} in {checks}\n{not_seen}",
        findings_text(findings, Detail::Full, options),
        counted(findings.len(), "finding")
    )
}

/// What was not looked at: no all-clear holds for it.
fn not_seen(coverage: &Coverage) -> String {
    let lines = coverage.not_seen.iter().map(|(what, count)| {
        let checks = counted(*count, "check");
        format!("not looked at, for lack of {what}: {checks}\n")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_says_how_many_checks_were_made() {
        let coverage = Coverage {
            looked_for: 21,
            not_seen: [("a target".to_owned(), 20), ("distances".to_owned(), 1)].into(),
        };
        let text =
            |findings: &[Finding]| doctor_text(&coverage, findings, None, &TextOptions::default());
        let finding = Finding {
            id: "zone-reclaim".to_owned(),
            ..Finding::default()
        };
        let found = text(&[finding]);
        assert!(found.starts_with("info: zone-reclaim\n"), "{found}");
        assert!(found.contains("\n\n1 finding in 21 checks\n"), "{found}");
        let not_seen = "not looked at, for lack of a target: 20 checks\n\
                        not looked at, for lack of distances: 1 check\n";
        assert!(found.ends_with(not_seen), "{found}");
        let clear = format!("no problems found in 21 checks\n{not_seen}");
        assert_eq!(text(&[]), clear);
    }
}
