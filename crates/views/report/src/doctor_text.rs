//! The answer of the doctor as text: its findings with all that is known of them, and how many
//! checks it made.

use model::{Coverage, Diagnosis, Threads};

use crate::cure_plan_text::{cure_plan_text, in_force_text};
use crate::findings_text::{Detail, findings_text};
use crate::residency_threads::residency_threads;
use crate::run_style::TextOptions;
use crate::topology_distances::counted;

/// Formats what the doctor found and the plan, after the threads of the target by role.
pub fn doctor_text(
    diagnosis: &Diagnosis,
    threads: Option<&Threads>,
    options: &TextOptions,
) -> String {
    let mut parts = vec![
        residency_threads(threads, options),
        findings_text(&diagnosis.findings, Detail::Full, options),
    ];
    parts.extend(
        diagnosis
            .plan
            .iter()
            .map(|plan| cure_plan_text(plan, options)),
    );
    parts.push(end(diagnosis));
    parts.extend(
        diagnosis
            .in_force
            .iter()
            .map(|it| in_force_text(it, options)),
    );
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// How many findings there are, and in how many checks.
fn end(diagnosis: &Diagnosis) -> String {
    let Diagnosis {
        coverage, findings, ..
    } = diagnosis;
    let checks = counted(coverage.looked_for, "check");
    let not_seen = not_seen(coverage);
    match findings.len() {
        0 => format!("no problems found in {checks}\n{not_seen}"),
        count => format!("{} in {checks}\n{not_seen}", counted(count, "finding")),
    }
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
    use model::Finding;

    use super::*;

    #[test]
    fn the_end_says_how_many_checks_were_made() {
        let coverage = Coverage {
            looked_for: 21,
            not_seen: [("a target".to_owned(), 20), ("distances".to_owned(), 1)].into(),
        };
        let text = |findings: &[Finding]| {
            let diagnosis = Diagnosis {
                coverage: coverage.clone(),
                findings: findings.to_vec(),
                ..Diagnosis::default()
            };
            doctor_text(&diagnosis, None, &TextOptions::default())
        };
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
