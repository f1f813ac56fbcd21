//! The answer of the doctor as text: its findings with all that is known of them, and how many
//! checks it made.

use std::collections::BTreeSet;

use model::{Finding, Threads};

use crate::findings_text::{Detail, findings_text};
use crate::residency_threads::residency_threads;
use crate::run_style::TextOptions;

/// Formats the findings of so many checks, after the threads of the target by role.
pub fn doctor_text(
    looked_for: usize,
    findings: &[Finding],
    threads: Option<&Threads>,
    options: &TextOptions,
) -> String {
    let threads = residency_threads(threads, options);
    let gap = if threads.is_empty() { "" } else { "\n" };
    format!("{threads}{gap}{}", of_checks(looked_for, findings, options))
}

fn of_checks(looked_for: usize, findings: &[Finding], options: &TextOptions) -> String {
    if findings.is_empty() {
        return format!("no problems found in {looked_for} checks\n");
    }
    let ids: BTreeSet<&str> = findings.iter().map(|it| it.id.as_str()).collect();
    format!(
        "{}\n{} of {looked_for} checks have findings\n",
        findings_text(findings, Detail::Full, options),
        ids.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_says_how_many_checks_were_made() {
        let text = |findings: &[Finding]| doctor_text(21, findings, None, &TextOptions::default());
        let finding = Finding {
            id: "zone-reclaim".to_owned(),
            ..Finding::default()
        };
        let found = text(&[finding]);
        assert!(found.starts_with("info: zone-reclaim\n"), "{found}");
        assert!(
            found.ends_with("\n\n1 of 21 checks have findings\n"),
            "{found}"
        );
        assert_eq!(text(&[]), "no problems found in 21 checks\n");
    }
}
