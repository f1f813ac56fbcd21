//! Findings as text, for every command that has some: each in one line, in a paragraph, or with all
//! that is known of it.

use std::collections::BTreeMap;

use model::{Finding, Severity};

use crate::form::plain::plain;
use crate::form::style::{Style, TextOptions};

/// Maximum number of findings with the same id that are shown. A machine with many nodes may have
/// one for each node.
const ALIKE_MAX: usize = 8;

/// Maximum number of facts shown for a finding; the rest are counted.
const FACTS_MAX: usize = 8;

/// How much of each finding is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// A paragraph: severity, id and message.
    Short,
    /// Also the evidence, the cost and the commands that fix it.
    Full,
}

/// Formats a finding as one line without its end.
pub fn finding_line(finding: &Finding) -> String {
    plain(&format!("{}: {}", finding.id, finding.message))
}

/// Formats findings in their order; those that were left out are counted.
pub(crate) fn findings_text(findings: &[Finding], detail: Detail, options: &TextOptions) -> String {
    let mut texts = Vec::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in findings {
        let alike = seen.entry(&finding.id).or_default();
        *alike += 1;
        if *alike <= ALIKE_MAX {
            texts.push(match detail {
                Detail::Short => short(finding, options),
                Detail::Full => full(finding, options),
            });
        }
    }
    for (id, count) in seen.iter().filter(|(_, count)| **count > ALIKE_MAX) {
        let more = format!(
            "… and {} more: {id}; --json lists all of them",
            count - ALIKE_MAX
        );
        texts.push(options.paragraph("", &more, Style::Usual));
    }
    texts.join(match detail {
        Detail::Short => "",
        Detail::Full => "\n",
    })
}

fn short(finding: &Finding, options: &TextOptions) -> String {
    let style = match finding.severity {
        Severity::Info => Style::Usual,
        Severity::Warning => Style::Care,
        Severity::Error => Style::Bad,
    };
    let start = format!("{:<9}", finding.severity.name());
    options.paragraph(&start, &finding_line(finding), style)
}

fn full(finding: &Finding, options: &TextOptions) -> String {
    let style = match finding.severity {
        Severity::Info => Style::Strong,
        Severity::Warning => Style::Care,
        Severity::Error => Style::Bad,
    };
    let head = format!("{}: {}", finding.severity.name(), plain(&finding.id));
    let mut text = format!("{}\n", options.paint(&head, style));
    text.push_str(&options.paragraph("  ", &finding.message, Style::Usual));
    for fact in finding.evidence.iter().take(FACTS_MAX) {
        let sentence = format!("{}: {}", fact.source, fact.value);
        text.push_str(&options.paragraph("  evidence  ", &sentence, Style::Usual));
    }
    let more = finding.evidence.len().saturating_sub(FACTS_MAX);
    if more > 0 {
        text.push_str(&format!("  evidence  and {more} more\n"));
    }
    if let Some(cost) = &finding.cost {
        let cost = format!("{} ({})", cost.estimate, cost.source);
        text.push_str(&options.paragraph("  cost      ", &cost, Style::Usual));
    }
    for (index, line) in finding.fix.iter().enumerate() {
        let start = if index == 0 {
            "  fix       "
        } else {
            "            "
        };
        text.push_str(&options.typed(start, line));
    }
    text
}

#[cfg(test)]
mod tests {
    use model::{Cost, Fact, ShellLine};

    use super::*;

    fn finding() -> Finding {
        let fact = Fact {
            source: "/proc/sys/vm/x".to_owned(),
            value: "1".to_owned(),
        };
        Finding {
            id: "zone-reclaim".to_owned(),
            severity: Severity::Warning,
            message: "zone_reclaim_mode is 1".to_owned(),
            evidence: vec![fact; 10],
            cost: Some(Cost {
                estimate: "stalls".to_owned(),
                source: "kernel".to_owned(),
            }),
            fix: vec![ShellLine::of("sysctl -w vm.zone_reclaim_mode=0")],
        }
    }

    #[test]
    fn a_finding_shows_as_much_as_its_command_asks_for() {
        let (all, options) = ([finding()], TextOptions::default());
        let line = "zone-reclaim: zone_reclaim_mode is 1";
        assert_eq!(finding_line(&all[0]), line);
        let short = findings_text(&all, Detail::Short, &options);
        assert_eq!(short, format!("warning  {line}\n"));
        let full = findings_text(&all, Detail::Full, &options);
        for words in [
            "warning: zone-reclaim\n",
            "  evidence  /proc/sys/vm/x: 1\n",
            "  evidence  and 2 more\n",
            "  cost      stalls (kernel)\n",
            "  fix       sysctl -w vm.zone_reclaim_mode=0\n",
        ] {
            assert!(full.contains(words), "{words}\n{full}");
        }
    }

    #[test]
    fn a_finding_of_an_older_document_has_only_its_message() {
        let old = Finding {
            evidence: Vec::new(),
            cost: None,
            fix: Vec::new(),
            ..finding()
        };
        let full = findings_text(&[old], Detail::Full, &TextOptions::default());
        assert_eq!(full, "warning: zone-reclaim\n  zone_reclaim_mode is 1\n");
    }

    #[test]
    fn of_many_findings_with_one_id_some_are_counted() {
        let text = findings_text(&vec![finding(); 10], Detail::Short, &TextOptions::default());
        assert_eq!(text.lines().count(), ALIKE_MAX + 1);
        assert!(text.contains("… and 2 more: zone-reclaim;"), "{text}");
    }
}
