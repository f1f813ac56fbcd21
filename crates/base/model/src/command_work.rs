//! An external program that prints a number.

use serde::{Deserialize, Serialize};

use crate::{Allocation, Metric};

/// A program, and what of its output is the figure of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandWork {
    /// What the shell is given: `sh -c COMMAND`.
    pub command: String,
    /// Where in its standard output the number is.
    pub number: NumberPlace,
    /// The unit of the number, for people.
    pub unit: String,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// The memory policy of its processes.
    pub allocation: Allocation,
    /// A CPU quota of so many CPUs; `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<u32>,
}

/// Where the number is in what a program prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NumberPlace {
    /// The last number of all.
    Last,
    /// The only number of this line, counted from 1.
    Line(u32),
    /// What the first group of a regular expression, or all of it where it has none, last matched.
    Regex(String),
    /// A field of the document that the output is, as a JSON pointer (RFC 6901).
    Json(String),
}

impl CommandWork {
    /// What cases of it are compared by.
    pub fn metric(&self) -> Metric {
        match self.more_is_better {
            true => Metric::Gain,
            false => Metric::Cost,
        }
    }
}
