//! A finding: something a user should know, with a name that scripts can rely on, and as far as
//! they are known its evidence, its cost and the fix.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ShellLine;

/// Something a user should know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its name, the same for every finding of this kind.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence with its figures.
    pub message: String,
    /// The facts behind it. Not in a document where there are none: those of older versions have
    /// none either.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Fact>,
    /// Its cost, and the source of the estimate; `None` in a document of an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Commands that fix it on this system, in order; lines that begin with `#` explain. Not in a
    /// document where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fix: Vec<ShellLine>,
}

/// The checks of a diagnosis.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// How many checks could look at what they are about.
    pub looked_for: usize,
    /// What other checks lacked, such as `a target` or `distances`, and how many of them. Not in
    /// documents of older versions, which counted every check as made.
    #[serde(default)]
    pub not_seen: BTreeMap<String, usize>,
    /// The findings that were looked for.
    #[serde(default)]
    pub made: Vec<String>,
    /// The findings that were not looked for, by what their checks lacked.
    #[serde(default)]
    pub not_made: BTreeMap<String, Vec<String>>,
}

impl Coverage {
    /// How many checks there are for a target of this kind.
    pub fn checks(&self) -> usize {
        self.looked_for + self.not_seen.values().sum::<usize>()
    }
}

/// How much a finding matters, in ascending order.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know.
    #[default]
    Info,
    /// Costs performance, or makes a figure doubtful.
    Warning,
    /// Something is wrong.
    Error,
}

impl Severity {
    /// The name in documents and texts.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One fact and its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// The file or files.
    pub source: String,
    /// Their content.
    pub value: String,
}

/// What something costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// The cost in words and figures.
    pub estimate: String,
    /// Where the estimate comes from.
    pub source: String,
}

#[cfg(test)]
mod tests {
    use super::{Finding, Severity};

    #[test]
    fn a_finding_of_an_older_document_is_read_and_written_as_it_was() {
        let text = r#"{"id":"skew","severity":"warning","message":"75 % on node 0"}"#;
        let finding: Finding = serde_json::from_str(text).unwrap();
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.evidence.is_empty() && finding.cost.is_none() && finding.fix.is_empty());
        assert_eq!(serde_json::to_string(&finding).unwrap(), text);
    }
}
