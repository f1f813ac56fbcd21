//! An external program that prints a number.

use serde::{Deserialize, Serialize};

use crate::{Allocation, Metric};

/// A program, and the part of its output that is the figure of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandWork {
    /// The argument of the shell: `sh -c COMMAND`.
    pub command: String,
    /// Where to find the number in its standard output.
    pub number: NumberPlace,
    /// The unit of the number, for people.
    pub unit: String,
    /// Whether more is better.
    pub more_is_better: bool,
    /// The memory policy of its processes.
    pub allocation: Allocation,
    /// A CPU quota, in CPUs; `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<u32>,
}

/// Where to find the number in a program's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NumberPlace {
    /// The last number of the output.
    Last,
    /// The only number of this line, counted from 1.
    Line(u32),
    /// The last match of a regular expression: its first group, or the whole match without groups.
    Regex(String),
    /// A field of the output, a JSON document, as a JSON pointer (RFC 6901).
    Json(String),
}

impl CommandWork {
    /// The metric that compares cases of it.
    pub fn metric(&self) -> Metric {
        match self.more_is_better {
            true => Metric::Gain,
            false => Metric::Cost,
        }
    }
}
