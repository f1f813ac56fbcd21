//! The page of `numalab.doctor/1`.

use std::collections::BTreeMap;

use maud::{Markup, html};
use model::Finding;
use serde::Deserialize;

use super::error::Error;
use super::findings::findings;
use super::guard::fields;
use super::table::{counted, cut};

/// Name and version of the document.
pub(crate) const DOCTOR_FORMAT: &str = "numalab.doctor/1";

/// The fields that `report` writes.
#[derive(Debug, Deserialize)]
pub(crate) struct Diagnosis {
    #[serde(default)]
    target: Option<String>,
    looked_for: usize,
    #[serde(default)]
    not_seen: BTreeMap<String, usize>,
    findings: Vec<Finding>,
}

/// Reads a document.
pub(crate) fn read_doctor(text: &str) -> Result<Diagnosis, Error> {
    fields(text, DOCTOR_FORMAT)
}

/// Returns the page's content.
pub(crate) fn doctor_content(diagnosis: &Diagnosis) -> Markup {
    html! {
        p.lead {
            @if diagnosis.findings.is_empty() { "No problems found" }
            @else { (counted(diagnosis.findings.len(), "finding")) }
            " in " (counted(diagnosis.looked_for, "check")) "."
        }
        @for (what, count) in &diagnosis.not_seen {
            p.muted {
                "Not looked at, for lack of " (cut(what)) ": " (counted(*count, "check")) "."
            }
        }
        @if let Some(target) = &diagnosis.target { p.muted { "Target " (cut(target)) "." } }
        (findings(&diagnosis.findings))
    }
}
