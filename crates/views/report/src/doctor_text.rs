//! Findings as text: the problem, its evidence, its cost, and the commands that fix it.

use model::{Diagnosis, Severity};

use crate::run_plain::plain;
use crate::run_style::{Style, TextOptions};

/// Maximum number of facts shown for a finding; the rest are counted.
const FACTS_MAX: usize = 8;

/// Formats a diagnosis.
pub fn doctor_text(looked_for: usize, findings: &[Diagnosis], options: &TextOptions) -> String {
    if findings.is_empty() {
        return format!("no problems found in {looked_for} checks\n");
    }
    let shown: Vec<String> = findings
        .iter()
        .map(|finding| one(finding, options))
        .collect();
    let count = findings.len();
    let end = format!("{count} of {looked_for} checks found something\n");
    format!("{}\n{end}", shown.join("\n"))
}

fn one(finding: &Diagnosis, options: &TextOptions) -> String {
    let style = match finding.severity {
        Severity::Info => Style::Strong,
        Severity::Warning => Style::Care,
        Severity::Error => Style::Bad,
    };
    let head = format!("{}: {}", finding.severity.name(), finding.id);
    let mut text = format!("{}\n", options.paint(&head, style));
    text.push_str(&options.paragraph("  ", &finding.message, Style::Usual));
    for fact in finding.evidence.iter().take(FACTS_MAX) {
        let sentence = format!("{}: {}", fact.source, fact.value);
        text.push_str(&options.paragraph("  evidence  ", &sentence, Style::Usual));
    }
    if let Some(more) = finding
        .evidence
        .len()
        .checked_sub(FACTS_MAX)
        .filter(|more| *more > 0)
    {
        text.push_str(&format!("  evidence  and {more} more\n"));
    }
    let cost = format!("{} ({})", finding.cost.estimate, finding.cost.source);
    text.push_str(&options.paragraph("  cost      ", &cost, Style::Usual));
    for (index, line) in finding.fix.iter().enumerate() {
        // Commands are not wrapped, so that they can be copied.
        let start = if index == 0 {
            "  fix       "
        } else {
            "            "
        };
        text.push_str(&format!("{start}{}\n", plain(line)));
    }
    text
}

#[cfg(test)]
mod tests {
    use model::{Cost, Fact};

    use super::*;

    #[test]
    fn a_finding_shows_evidence_cost_and_commands() {
        let finding = Diagnosis {
            id: "zone-reclaim".to_owned(),
            severity: Severity::Warning,
            message: "zone_reclaim_mode is 1".to_owned(),
            evidence: vec![
                Fact {
                    source: "/proc/sys/vm/x".to_owned(),
                    value: "1".to_owned()
                };
                10
            ],
            cost: Cost {
                estimate: "stalls".to_owned(),
                source: "kernel".to_owned(),
            },
            fix: vec!["sysctl -w vm.zone_reclaim_mode=0".to_owned()],
        };
        let text = doctor_text(21, &[finding], &TextOptions::default());
        for words in [
            "warning: zone-reclaim\n",
            "  evidence  /proc/sys/vm/x: 1\n",
            "  evidence  and 2 more\n",
            "  cost      stalls (kernel)\n",
            "  fix       sysctl -w vm.zone_reclaim_mode=0\n",
            "1 of 21 checks found something",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        let nothing = doctor_text(21, &[], &TextOptions::default());
        assert_eq!(nothing, "no problems found in 21 checks\n");
    }
}
