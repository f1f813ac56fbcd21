//! A finding: something a user should know, with a name that scripts can rely on; and a diagnosis:
//! a finding with its evidence, its cost and the fix.

use serde::{Deserialize, Serialize};

/// Something a user should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its name, the same for every finding of this sort.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence with its figures.
    pub message: String,
}

/// How much a finding matters; the greater, the more.
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
    /// The word of documents and texts.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// What `numalab doctor` found, with everything needed to judge and to fix it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Its name, the same for every finding of this sort.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence with its figures.
    pub message: String,
    /// What it rests on.
    pub evidence: Vec<Fact>,
    /// What it costs, and who measured that.
    pub cost: Cost,
    /// Commands that fix it on this system, in order; lines that begin with `#` explain.
    pub fix: Vec<String>,
}

/// One fact and where it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// A file, or files.
    pub source: String,
    /// What it says.
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
