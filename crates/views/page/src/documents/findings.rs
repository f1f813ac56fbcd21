//! Findings with all that is known of each: evidence, cost and fix.

use maud::{Markup, html};
use model::{Finding, counted};

use super::table::cut;

/// Maximum number of findings that are shown.
const FINDINGS_MAX: usize = 100;
/// Maximum number of facts of one finding, and of lines of its fix.
const FACTS_MAX: usize = 40;

/// Returns the findings in their order.
pub(crate) fn findings(all: &[Finding]) -> Markup {
    html! {
        section {
            h2 { "Findings" }
            @if all.is_empty() { p { "None." } }
            @for finding in all.iter().take(FINDINGS_MAX) { (one(finding)) }
            @if all.len() > FINDINGS_MAX {
                p { "Left out: " (counted(all.len() - FINDINGS_MAX, "more finding")) "." }
            }
        }
    }
}

fn one(finding: &Finding) -> Markup {
    html! {
        article.finding {
            h3 {
                span class={ "severity " (finding.severity.name()) } { (finding.severity.name()) }
                " " (cut(&finding.id))
            }
            p { (cut(&finding.message)) }
            @if !finding.evidence.is_empty() || finding.cost.is_some() {
                dl.list {
                    @for fact in finding.evidence.iter().take(FACTS_MAX) {
                        dt { "evidence" }
                        dd { code { (cut(&fact.source)) } ": " (cut(&fact.value)) }
                    }
                    @if finding.evidence.len() > FACTS_MAX {
                        dt { "evidence" }
                        dd { (finding.evidence.len() - FACTS_MAX) " more" }
                    }
                    @if let Some(cost) = &finding.cost {
                        dt { "cost" }
                        dd { (cut(&cost.estimate)) " (" (cut(&cost.source)) ")" }
                    }
                }
            }
            @if !finding.fix.is_empty() {
                p { "Fix:" }
                pre { @for line in finding.fix.iter().take(FACTS_MAX) { (cut(line)) "\n" } }
            }
        }
    }
}
