//! An external program that prints a number.

use serde::{Deserialize, Serialize};

use crate::{Allocation, CpuSet, Metric};

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
    /// The lines between which the number was counted, which makes the figure a rate; `None`: the
    /// number is the figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<Between>,
    /// The server on which the program is the load; `None`: the program is all there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<CommandServer>,
}

/// Two lines of a program's output. The figure is the number divided by the seconds between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Between {
    /// A regular expression; the first line that matches begins.
    pub begin: String,
    /// A regular expression; the first later line that matches ends.
    pub end: String,
}

/// A server that is started for each trial. Placement, memory policy and quota are the server's,
/// not the program's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandServer {
    /// Starts it: `sh -c COMMAND`, which runs as long as the server does.
    pub command: String,
    /// A command for the shell that succeeds as soon as the server answers.
    pub ready: String,
    /// CPUs of the program and of `ready`; `None` leaves them as inherited.
    pub client_cpus: Option<CpuSet>,
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
    /// The mean of this field of all lines that are JSON objects and have it.
    JsonLines(String),
    /// The mean of the column with this name, of a table with a heading (CSV, RFC 4180).
    Csv(String),
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
