//! A finding: something a user should know, with a name that scripts can rely on. A diagnosis: a
//! finding with its evidence, its cost and the fix.

use serde::{Deserialize, Serialize};

/// Something a user should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its name, the same for every finding of this kind.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence with its figures.
    pub message: String,
}

/// How much a finding matters, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know.
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

/// A result of `numalab doctor`, with everything needed to judge and to fix it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Its name, the same for every finding of this kind.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence with its figures.
    pub message: String,
    /// The facts behind it.
    pub evidence: Vec<Fact>,
    /// Its cost, and the source of the estimate.
    pub cost: Cost,
    /// Commands that fix it on this system, in order; lines that begin with `#` explain.
    pub fix: Vec<String>,
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
